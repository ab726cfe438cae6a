"""Secrets of every shape vanish, and what merely looks like one stays readable."""

from __future__ import annotations

import json
from types import ModuleType

import pytest

from reports.html import render_html
from reports.json_form import as_json
from reports.redact import redact, redact_lines
from reports.text import explain, verdict_text

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
    (
        "AWS4-HMAC Credential=AKIAIOSFODNN7EXAMPLE/20261130/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=fe5f80f77d5fa3beca038a248ff027d0445342fe2855ddc963176630326f1024",
        "fe5f80f7",
    ),
    ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalr"),
    ("ABIAIOSFODNN7EXAMPLE ACCAIOSFODNN7EXAMPLE", "ABIAIOSF"),
    (
        "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;EndpointSuffix=core.windows.net",
        "Eby8vdM",
    ),
    ("SharedAccessKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2=", "Eby8vdM"),
    ("https://x.blob.core.windows.net/c?sv=2022-11-02&ss=b&se=2026-12-01&sp=rl&sig=abcDEF123%2Bxyz%3D", "abcDEF123"),
    ("AZURE_CLIENT_SECRET=abc8Q~abcdefghijklmnopqrstuvwxyzABCDEF12", "abc8Q"),
    ("client secret is abc8Q~abcdefghijklmnopqrstuvwxyzABCDEF12", "abc8Q"),
    ('"private_key": "-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\\n-----END PRIVATE KEY-----\\n",', "MIIEvQ"),
    ('  "private_key_id": "0123456789abcdef0123456789abcdef01234567",', "0123456789abcdef"),
    ("GOCSPX-abcdefghijklmnopqrstuvwxyz12 client secret", "GOCSPX-abc"),
    ("1//0gabcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLMNOP_qrst refresh", "1//0gabc"),
    ("ya29.c.b0Aaekm1KabcdefABCDEF_-0123456789abcdef", "b0Aaekm1K"),
    ("HUGGING_FACE_HUB_TOKEN hf_abcdefghijklmnopqrstuvwxyzABCDEFGH", "hf_abc"),
    ("wandb: Paste an API key from your profile and hit enter: 0123456789abcdef0123456789abcdef01234567", "0123456789abcdef"),
    ("wandb.login(key='0123456789abcdef0123456789abcdef01234567')", "0123456789abcdef"),
    ("wandb_v1_abcdefghijklmnopqrstuvwxyz0123456789_ABCDEFGHIJKLMNOPQRSTUVWXYZ", "wandb_v1_abc"),
    ("sk-or-v1-abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789", "sk-or-v1"),
    ("sk_live_51AbcdEfghIjklMnopQrst", "sk_live_51"),
    ("gsk_abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOP", "gsk_abc"),
    ("xai-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPabcdefghijklmnopqrstuvwxyz01234567", "xai-abc"),
    ("r8_abcdefghijklmnopqrstuvwxyzABCDEFGHIJK", "r8_abc"),
    ("tgp_v1_abcdefghijklmnopqrstuvwxyzABCDEFGHIJK01234567", "tgp_v1_abc"),
    ("SG.abcdefghijklmnopqrstuv.abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG", "SG.abc"),
    ("dapi0123456789abcdef0123456789abcdef", "dapi0123"),
    ("lin_api_abcdefghijklmnopqrstuvwxyzABCDEFGH0123456789", "lin_api_abc"),
    ("hvs.CAESIJabcdefghijklmnopqrstuvwxyzABCDEFGHIJK", "hvs.CAES"),
    ("s.abcdefghijklmnopqrstuvwx VAULT_TOKEN=s.abcdefghijklmnopqrstuvwx", "=s.abc"),
    ("https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXabcdefgh", "XXXXXXXXXXXXXXXXabc"),
    ("xapp-1-A0123456789-0123456789012-abcdef0123456789abcdef0123456789", "xapp-1-A"),
    (
        "https://discord.com/api/webhooks/123456789012345678/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-abcd",
        "abcdefghijklmnopqrstuvwxyzABC",
    ),
    ("glrt-abcdefghij0123456789", "glrt-abc"),
    ("gldt-abcdefghij0123456789", "gldt-abc"),
    ("glcbt-64_abcdefghij0123456789", "glcbt-64_abc"),
    ("ATATT3xFfGF0abcdefghijklmnopqrstuvwxyz0123456789ABCDEF=1234", "ATATT3x"),
    ("AGE-SECRET-KEY-1QQPQYR0ABCDEFGHJKLMNPQRSTUVWXYZ0123456789ABCDEFGHJKLMNP", "AGE-SECRET-KEY-1QQ"),
    ("dckr_oat_abcdefghijklmnopqrstuvwxyz", "dckr_oat_a"),
    ("GHSAT0AAAAAABBBBBBCCCCCCDDDDDDEEEEEE raw token=GHSAT0AAAAAABBBBBBCCCCCCDDDDDDEEEEEE", "=GHSAT0A"),
    ('{"auths": {"nvcr.io": {"auth": "JG9hdXRodG9rZW46bnZhcGktYWJjZGVm"}}}', "JG9hdX"),
    ('"identitytoken": "abcdefghijklmnop.qrstuv"', "abcdefghijklmnop"),
    ("    client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo=", "LS0tLS1"),
    ("    token: eyJhbGciOiJSUzI1NiIsImtpZCI6IiJ9.eyJpc3MiOiJrdWJlIn0.sig-abc_def", "eyJpc3"),
    ("machine github.com\n  login eve\n  password hunter2", "hunter2"),
    ("machine api.wandb.ai login user password abc", "password abc"),
    ("machine x login eve account z password hunter2", "hunter2"),
    ("default login eve password hunter2", "hunter2"),
    ("> Authorization: Bearer abc", "abc"),
    ("x-api-key: abcdefgh1234", "abcdefgh1234"),
    ("X-Vault-Token: hvs.abcd", "hvs.abcd"),
    ("PRIVATE-TOKEN: abcdefgh1234", "abcdefgh1234"),
    ("Ocp-Apim-Subscription-Key: 0123456789abcdef0123456789abcdef", "0123456789abcdef"),
    ("headers={'Authorization': f'Bearer {token}', 'X-Api-Key': 'abcd1234efgh'}", "abcd1234efgh"),
    ("Proxy-Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
    ("Cookie: sessionid=abcd; csrftoken=efgh", "sessionid=abcd"),
    ("Authorization: AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/2026/x, Signature=fe5f80f77d5fa3be", "fe5f80f77d5fa3be"),
    ("Authorization: token abcdef1234", "abcdef1234"),
    ('Authorization=Digest username="eve", response="0123456789abcdef0123456789abcdef"', "0123456789abcdef"),
    ("https://eve:p%40ss@host/x", "p%40ss"),
    ("ftp://eve:secret@host", "secret@"),
    ("s3://AKIAIOSFODNN7EXAMPLE:wJalrXUtnFEMI@bucket/x", "wJalr"),
    ("mongodb+srv://eve:hunter2@c.mongodb.net/", "hunter2"),
    ("http://proxy:hunter2@proxy.uni.example:3128", "hunter2"),
    ("https://abcdefghijklmnopqrstu:x-oauth-basic@github.com/a", "abcdefghijklmnopqrstu:"),
    ("git clone https://x-access-token:ghs_abcdefghijklmnopqrstuvwxyz0123456789@github.com/a/b", "ghs_abc"),
    ("https://example.org/cb?code=4/0AbcdefGHIJ&state=x&client_secret=hunter2", "hunter2"),
    ("https://x.example/?apikey=abcd1234", "abcd1234"),
    ("https://x/?key=AIzaSyA1234567890abcdefghijklmnopqrstuv", "AIzaSyA"),
    ("MYSQL_PWD=hunter2", "hunter2"),
    ("PGPASSWORD=hunter2", "hunter2"),
    ("export OPENAI_API_KEY=abcd", "abcd"),
    ("NGC_API_KEY=abcd1234", "abcd1234"),
    ("SLURM_JWT=eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJleHAiOjE2.abc", "eyJleHA"),
    ("COMET_API_KEY=abcd1234efgh", "abcd1234efgh"),
    ("MLFLOW_TRACKING_PASSWORD=hunter2", "hunter2"),
    ("KRB5_PASS=hunter2", "hunter2"),
    ("DB_PASS=hunter2", "hunter2"),
    ("db.pass: hunter2", "hunter2"),
    ("SMTP_PW=hunter2", "hunter2"),
    ("REDIS_AUTH=hunter2abc", "hunter2abc"),
    ("ENCRYPTION_KEY=abcd1234efgh5678", "abcd1234"),
    ("SIGNING_KEY=abcd1234efgh5678", "abcd1234"),
    ("SSH_PASSPHRASE=a b c", "=a"),
    ("AWS_SESSION_TOKEN=IQoJb3JpZ2luX2VjEXAMPLE", "IQoJb3"),
    ("SECRET_KEY_BASE=abcd1234efgh", "abcd1234"),
    ("DJANGO_SECRET_KEY='abc def'", "abc def"),
    ("PASSWORD_HASH=$6$saltsalt$abcdefghij", "$6$salt"),
    ("password_hash: $2b$12$abcdefghijklmnopqrstuv", "$2b$12$abc"),
    ("root:$6$saltsalt$abcdefghijklmnop/qrst:19000:0:99999:7:::", "$6$saltsalt$abc"),
    ("environ({'HF_TOKEN': 'hunter2x', 'A': 1})", "hunter2x"),
    ("--password hunter2", "hunter2"),
    ("--password=hunter2", "hunter2"),
    ("mysql -uroot -phunter2 db", "hunter2"),
    ("sshpass -p hunter2 ssh x", "hunter2"),
    ("echo hunter2 | sudo -S ls", "hunter2"),
    ("curl --user eve:hunter2 x", "hunter2"),
    ("wget --http-password=hunter2", "hunter2"),
    ("docker login -u eve -p hunter2 nvcr.io", "hunter2"),
    ("huggingface-cli login --token hf_x1", "hf_x1"),
    ("redis-cli -a hunter2", "hunter2"),
    ("<password>hunter2</password>", "hunter2"),
    ("password: 'it''s hunter2'", "hunter2"),
    ("passwd=hunter2;", "hunter2"),
    ("api_token : abcd1234", "abcd1234"),
    ("apiToken=abcd1234", "abcd1234"),
    ("accessToken: abcd1234", "abcd1234"),
    ("'refresh_token': 'abcd1234'", "abcd1234"),
    ("bearer_token=abcd1234", "abcd1234"),
    (
        "OPENSSH: -----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW\n-----END OPENSSH PRIVATE KEY-----",
        "b3BlbnNz",
    ),
    ("-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOYBF\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----", "lQOYBF"),
    ("PuTTY-User-Key-File-2: ssh-rsa\nPrivate-Lines: 2\nAAABAQCabcdef\nAAAAgQDabcdef", "AAABAQCabcdef"),
]
"""Each with the part of it that must be gone. All made up, in the forms that the services document."""

LOOK_ALIKES = [
    "Remoting started; listening on addresses :[akka.tcp://sparkExecutorActorSystem@mesos-slave-07:55904]",
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
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "HEAD is now at 9fceb02 Fix token handling",
    "uuid 123e4567-e89b-12d3-a456-426614174000",
    "GPU-5e1f3a2b-8c7d-4e6f-9a0b-1c2d3e4f5a6b",
    "NVRM: Xid (PCI:0000:41:00): 79, pid=77123, name=python, GPU has fallen off the bus.",
    "mlx5_0: port guid 0x506b4b0300c8a1f2 node_guid: 506b:4b03:00c8:a1f2",
    "link/ether 02:42:ac:11:00:02 brd ff:ff:ff:ff:ff:ff",
    "link/infiniband 00:00:10:29:fe:80:00:00:00:00:00:00:50:6b:4b:03:00:c8:a1:f2 brd 00:ff:ff",
    "ncclUniqueId: 0x8d1f0a3c5e7b9d2f",
    "NCCL INFO Init COMPLETE commId 0x8d1f0a3c5e7b9d2f",
    "checkpoint sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "model-00001-of-00030.safetensors: 9a8b7c6d5e4f39a8b7c6d5e4f39a8b7c6d5e4f39a8b7c6d5e4f39a8b7c6d5e4f",
    "/home/eve/.cache/huggingface/hub/models--gpt2/snapshots/607a30d783dfa663caf39e06633721c8d4cfcd7e/config.json",
    "wandb: Run data is saved locally in /x/wandb/run-20261130_120000-3f2a1b9c",
    "wandb: 🚀 View run at https://wandb.ai/eve/proj/runs/3f2a1b9c",
    "step_key=1200 num_keys: 12 key: value",
    "KeyError: 'optimizer_state'",
    "tokens: 12345 tokens_per_sec=99.1",
    "loss=2.3 token_acc=0.98 token_loss: 1.23",
    "special_tokens_map.json tokenizer_config.json",
    "slurmstepd: error: *** STEP 4711.0 ON c01 CANCELLED AT 2026-11-30T06:52:58 ***",
    'munge: Error: Unable to access "/run/munge/munge.socket.2": No such file or directory',
    "Credentials were refused by a service",
    "auth/munge: cred_p_unpack: invalid credential",
    "AuthInfo=cred_expire=120",
    "PASS: test_x (0.3 s)",
    "1 passed, 2 failed; pass: 3",
    "Compass=north bypass=true passthrough: yes pass_through=on",
    "password authentication disabled",
    "PasswordAuthentication no",
    "Failed password for invalid user admin from 10.0.0.1 port 22 ssh2",
    "Permission denied (publickey,password).",
    "pci 0000:41:00.0: [10de:20b2] type 00 class 0x030200",
    "Device 0000:41:00.0 serial 1324920012345",
    "Secret Service not available",
    "SecretStorage==3.3.3",
    "MASTER_ADDR=c01 MASTER_PORT=29500 RANK=3",
    "SLURM_JOB_ID=4711 SLURM_NTASKS=32",
    "PATH=/usr/bin:/bin KEYBOARD=us",
    "api-key not set",
    "No API key found",
    "author=eve authority: x oauthlib==3.2",
    "fingerprint SHA256:uNiVztksCsDhcc0u9e8BrqBrQF3cJ6v2WlYbY8lYx5E",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJabcdefghijklmnopqrstuvwxyz0123456789ABCDEF eve@login",
    'Traceback: File "/x/token.py", line 3, in password_check',
    "assert token == expected_token",
    "raise AuthError('bad token')",
    "data key: 5, sort keys: true",
    "primary key=3, foreign_key: user_id",
    "nvidia-smi -q -i 0 --id=GPU-5e1f3a2b",
    "0x7f3e4c5d6a7b in __libc_start_main",
    "Signature: loss-nan",
    "hash=a94a8fe5ccb19ba61c4c0873d391e987982fbbd3",
    "md5sum: d41d8cd98f00b204e9800998ecf8427e  ckpt.pt",
    'etag: "33a64df551425fcc55e4d42a148795d9f25f89d4"',
    "--key 5 --sort-key name",
    "sort -k 2 -p",
    "rank -p 4 srun -p gpu -u",
    "srun -u python x.py",
    "mysql: not found",
    "keys=[1,2,3]",
    "DS_SKIP_CUDA_CHECK=1",
    "sk-learn==1.2",
    "hf_transfer==0.1",
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
    "next_token=5 token_type_ids: [0]",
    "task-1234567890abcdefghijk",
    "eyJ is short",
    "signature=abc",
    "Authorization required",
    "authorization: failed",
    "credential: expired",
    "job credential 0x5e",
    "s.read()",
    "xapp-1 not found",
    "dapi error",
    "cookie: none",
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


def test_the_sites_own_patterns_are_masked_and_counted() -> None:
    site = ("project-[a-z]+", r"(?i)internal\.example")
    assert redact("nothing here", site) == ("nothing here", 0)
    masked, count = redact("project-falcon at host.INTERNAL.example, token=abcd1234", site)
    assert masked == "[redacted: site pattern] at host.[redacted: site pattern], token=[redacted: secret]"
    assert count == 3
    assert redact(masked, site) == (masked, 0)


def test_a_sites_pattern_does_not_reach_into_what_is_masked() -> None:
    text = "password=hunter2 of a secret site"
    site = ("secret|site|pattern|redacted",)
    masked, count = redact(text, site)
    assert masked == "password=[redacted: password] of a [redacted: site pattern] [redacted: site pattern]"
    assert count == 3
    assert redact(masked, site) == (masked, 0)


def test_a_sites_pattern_that_matches_nothing_masks_nothing() -> None:
    assert redact("plain words", ("x*",)) == ("plain words", 0)


def test_a_match_over_lines_keeps_their_number() -> None:
    lines, count = redact_lines(("one BEGIN", "two", "END three"), ("(?s)BEGIN.*END",))
    assert (len(lines), count) == (3, 1)
    assert "two" not in " ".join(lines)


def test_every_form_of_a_report_takes_the_sites_patterns(samples: ModuleType) -> None:
    found, library = samples.host_cause(), samples.library()
    site = ("eve",)
    forms = [render_html(found, library, site), verdict_text(found, library, site=site), json.dumps(as_json(found, site))]
    for text in forms:
        assert "/eve/" not in text
        assert "[redacted: site pattern]" in text
    assert "secrets masked" in forms[0]
    assert "eve" not in explain(found, site=site)
