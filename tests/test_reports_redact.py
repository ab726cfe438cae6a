"""Secrets of every shape vanish, and what merely looks like one stays readable."""

from __future__ import annotations

import pytest

from reports.redact import redact, redact_lines

PLAIN = "Xq7Rv2Lm9Tz4Kw8Pb3Nd"
SECRETS = [
    ("aws id AKIAIOSFODNN7EXAMPLE used", "AKIAIOSFODNN7EXAMPLE"),
    ("export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI"),
    ("AWS_SESSION_TOKEN=IQoJb3JpZ2luX2VjEXAMPLE//////////wEa", "IQoJb3JpZ2lu"),
    ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "ghp_abc"),
    ("git: github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz", "github_pat_11"),
    ("clone https://ghp_abcdefghijklmnopqrstuvwxyz0123456789@github.com/a/b", "ghp_abc"),
    ("clone https://oauth2:glpat-abcdefghij0123456789@gitlab.example.org/x.git", "glpat-abc"),
    ("PRIVATE: glpat-abcdefghij0123456789", "glpat-abc"),
    ("hf_abcdefghijklmnopqrstuvwxyzABCDEFGH", "hf_abc"),
    ("HF_TOKEN='hf_abcdefghijklmnopqrstuvwxyzABCDEFGH' python train.py", "hf_abc"),
    ('{"log": "first\\nhf_abcdefghijklmnopqrstuvwxyzABCDEFGH\\n"}', "hf_abc"),
    ("sk-proj-abcDEF0123456789abcdef", "sk-proj"),
    ("sk-ant-api03-ABCDEFabcdef0123456789-xyz", "sk-ant"),
    ("xoxb-123456789012-abcdefghijkl", "xoxb-123"),
    ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "AIzaSyA"),
    ("cookie jar: eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP", "eyJhbGci"),
    ("nvapi-abcdefghijklmnopqrstuvwxyz0123456789ABCD", "nvapi-abc"),
    ("wandb login 0123456789abcdef0123456789abcdef01234567", "0123456789abcdef"),
    ("WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567", "0123456789abcdef"),
    ("machine api.wandb.ai login user password 0123456789abcdef", "0123456789abcdef"),
    (f"Authorization: Bearer {PLAIN}", PLAIN),
    (f"{{'authorization': 'Basic {PLAIN}='}}", PLAIN),
    (f"curl -H 'X-Auth-Token: {PLAIN}' https://x", PLAIN),
    (f"got header bearer {PLAIN}", PLAIN),
    (f"Set-Cookie: session={PLAIN}; Path=/", PLAIN),
    (f"postgres://eve:{PLAIN}@db:5432/x", PLAIN),
    (f"redis://:{PLAIN}@cache/0", PLAIN),
    ("amqp://eve:p@ss,word@mq", "p@ss"),
    ("https://b.s3.amazonaws.com/k?X-Amz-Credential=AKIA%2F2026&X-Amz-Signature=abcdef0123", "abcdef0123"),
    (f"https://store.example/c?sv=2020&sig={PLAIN}%3D", PLAIN),
    (f"curl -u eve:{PLAIN} https://x", PLAIN),
    (f"SECRET={PLAIN}", PLAIN),
    ("password=hunter2", "hunter2"),
    ("password=correct,horse,battery", "horse"),
    ("DB_PASSWORD: hunter2", "hunter2"),
    ("Password = hunter2", "hunter2"),
    ('{"password": "hunter2", "user": "eve"}', "hunter2"),
    ('{"password": "correct horse battery"}', "horse"),
    ('{"password": "a\\"b hunter2"}', "hunter2"),
    ('{\\"api_key\\": \\"hunter2 hunter3\\", \\"n\\": 1}', "hunter3"),
    ("Namespace(db_password='hunter2', lr=3)", "hunter2"),
    ('password="never closed hunter2', "hunter2"),
    (f"{{'clientSecret': b'{PLAIN}'}}", PLAIN),
    ("python x.py --token abcdef --max-tokens 2048", "abcdef"),
    (f"python x.py --api-key={PLAIN}", PLAIN),
    (f"python x.py --hub-token '{PLAIN}'", PLAIN),
    (f"CalledProcessError: ['get', '--access-key', '{PLAIN}']", PLAIN),
    (f'declare -x NGC_CLI_API_KEY="{PLAIN}"', PLAIN),
    (f"credentials: {PLAIN}", PLAIN),
    (f"https://x.example/?access_token={PLAIN}&page=2", PLAIN),
]

LOOK_ALIKES = [
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "revision: 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "uuid 123e4567-e89b-12d3-a456-426614174000",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "docker://ubuntu:22.04@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "token_ids=[1, 2, 3] max_tokens=2048 tokenizer=gpt2 num_tokens: 5 n_token: 7",
    "tokens/s: 1234.5 tokens=99 tokens_per_second=12",
    "TOKENIZERS_PARALLELISM=false",
    '  File "/home/eve/secret_sauce.py", line 12, in get_token',
    "python /home/eve/secret_sauce.py --config secret.yaml",
    "    headers = build(token=token, api_key=self.api_key, password=args.password)",
    "    api_key=os.environ['API_KEY'],",
    "cat: /etc/passwd: No such file or directory",
    "slurmstepd: error: Invalid job credential: expired",
    "srun: error: Unable to create step for job 4711: Invalid job credential",
    "SyntaxError: Unexpected token: indent",
    "KeyError: 'token'",
    "pad_token='<pad>' eos_token=</s> bos_token_id=1",
    '"token": 50256, "token": "the"',
    'export HF_TOKEN=$(cat ~/.token); run --token "$HF_TOKEN"',
    "use_auth_token=True token=None password=*****",
    "token_file=/home/eve/.cache/huggingface/token",
    "tcp://10.0.0.1:29500 http://[fe80::1]:8080/x@v1 ssh://git@host:22/x",
    "task-abcdefghijklmnopqrstuvwxyz0A disk-abcdefghijklmnopqrstuvwxyz0A",
    "hf_hub_download hf_transfer hf_xet",
    "ModuleNotFoundError: No module named 'sk-learn'",
    "keyboard=us primary_key: id sort_key=name monkey: banana",
    "NVRM: Xid (PCI:0000:41:00): 79, pid=77123, GPU has fallen off the bus.",
    "NCCL WARN Net: Connection closed by remote peer c0003<51001>",
    "sudo: a password is required",
    "munge: Error: Invalid credential format",
]


@pytest.mark.parametrize(("line", "secret"), SECRETS, ids=[line[:40] for line, _ in SECRETS])
def test_a_secret_is_masked_and_counted(line: str, secret: str) -> None:
    masked, count = redact(line)
    assert secret not in masked
    assert "[redacted" in masked
    assert count >= 1


@pytest.mark.parametrize("line", LOOK_ALIKES, ids=[line[:40] for line in LOOK_ALIKES])
def test_a_look_alike_stays_readable(line: str) -> None:
    assert redact(line) == (line, 0)


@pytest.mark.parametrize("line", [line for line, _ in SECRETS])
def test_redacting_again_changes_and_counts_nothing(line: str) -> None:
    masked, _ = redact(line)
    assert redact(masked) == (masked, 0)


def test_what_stands_around_a_secret_stays() -> None:
    assert redact("run --token abc123 --max-tokens 2048")[0] == "run --token [redacted: secret] --max-tokens 2048"
    assert redact("postgres://eve:hunter2@db:5432/x")[0] == "postgres://eve:[redacted: password]@db:5432/x"


def test_a_private_key_is_masked_over_its_lines_and_keeps_their_number() -> None:
    body = "MIIEowIBAAKCAQEAxXq7Rv2Lm9Tz4Kw8Pb3NdMIIEowIBAAKCAQEAxXq7Rv2Lm9"
    lines = ("before", "-----BEGIN RSA PRIVATE KEY-----", body, "-----END RSA PRIVATE KEY-----", "after")
    masked, count = redact_lines(lines)
    assert (len(masked), count, masked[0], masked[-1]) == (5, 1, "before", "after")
    assert not any("MIIE" in line for line in masked)
    assert not any("MIIE" in line for line in redact_lines(lines[:3])[0]), "an end that was cut off"
    assert not any("MIIE" in line for line in redact_lines(lines[2:])[0]), "a beginning that was cut off"


def test_a_token_that_was_cut_with_its_line_is_masked_too() -> None:
    line = "x" * 1980 + " at " + "ghp_abcdefghijklmnop"
    assert "ghp_abc" not in redact(line)[0]


@pytest.mark.parametrize(
    "text",
    [
        *(word * (200_000 // len(word)) for word in ("token", "curl ", "eyJ-", 'token="', "://", "://a:b", "password ")),
        *(word * (200_000 // len(word)) for word in ("-----END PRIVATE KEY-----", "sk-a1", "bearer ", "--token ", "cookie:")),
        "a" * 200_000 + "token",
        "A" * 200_000 + " PRIVATE KEY",
        "-" * 200_000 + "key",
        "login  password" + " " * 200_000,
    ],
    ids=lambda text: text[:12],
)
def test_no_text_makes_the_search_endless(text: str) -> None:
    """Not timed: with a pattern that backtracks, this would run for hours."""
    masked, count = redact(text)
    assert redact(masked) == (masked, 0) or count == 0
