"""What mends it when a node cannot be reached by SSH?"""

from __future__ import annotations

from collector.live.ssh import Kind, Unreachable

_REMEDIES: dict[Kind, str] = {
    "name": "this machine must be able to look the name up (getent hosts {host}), or ssh's configuration must have a HostName for it",
    "no-route": "is the node up, and is there a route to it? scontrol show node {host}; ping {host}",
    "timeout": "is the node up, and does a firewall let port 22 through? scontrol show node {host}; ping {host}; ssh {host} true",
    "refused": "on the node: systemctl status sshd; is Port in ssh's configuration right? ssh -G {host} | grep port",
    "closed": "on the node: sshd's own log (journalctl -u sshd) says why it hangs up; MaxStartups, or a full disk, perhaps",
    "authentication": (
        "put this machine's public key into ~/.ssh/authorized_keys of that user on the nodes (ssh-copy-id), or load a key into ssh-agent;"
        " collect.ssh_user chooses the user. Test: ssh -o BatchMode=yes {host} true"
    ),
    "host-key": (
        "add it, once you have compared it with the node's own (there: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub):"
        " ssh-keyscan -t ed25519 {host} >>/etc/ssh/ssh_known_hosts"
    ),
    "jump": "the way to the node leads over another host: ssh -v {host} true shows where it ends",
    "config": "mend ssh's configuration for it: ssh -G {host}",
}
_CHANGED = (
    "was the node installed anew? Then compare the key with its own, and replace it: ssh-keygen -R {host}, then"
    " ssh-keyscan -t ed25519 {host} >>/etc/ssh/ssh_known_hosts. If not, somebody else answers under its name"
)
_REVOKED = "the node shows a key that was withdrawn: give it a new host key (ssh-keygen -A after removing the old), and do not log in there"


def remedy_for(host: str, why: Unreachable) -> str:
    """One line, with the node's name in its commands."""
    text = _REMEDIES[why.kind]
    if why.kind == "host-key" and "is not the one" in why.reason:
        text = _CHANGED
    elif why.kind == "host-key" and "is revoked" in why.reason:
        text = _REVOKED
    return text.format(host=host)
