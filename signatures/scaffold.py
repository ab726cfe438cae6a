"""What does a new entry look like before its author has written it: whole, valid, and with TODO in every field?"""

from __future__ import annotations

MARK = "TODO"

_ENTRY = """\
# yaml-language-server: $schema={schema}
# Replace every TODO; `denpex-collect signatures check FILE` names those that are left. signatures/README.md explains each field.
id: {id}
title: TODO the failure in a few words
answer: TODO one plain sentence, what happened.
role: ambiguous  # TODO initiating, collateral, context or ambiguous
scope: [host]  # TODO host, job, application, scheduler, fabric, shared-filesystem
side: either  # TODO who has to act: cluster, application, user or either
tags: [todo]  # TODO words by which it is found
signals:
  - name: todo-wording
    in: [kernel, output]  # TODO kernel, output, slurmd, slurmctld, daemon, tool: where the line is printed
    pattern: 'TODO the wording, as a regular expression with one long literal'
    strength: suggestive  # TODO decisive, suggestive or supporting
leads_to: []  # TODO ids of entries that this failure causes, or leave it empty
not_enough:
  - TODO what must not be concluded from this entry.
mechanism: |-
  TODO how it comes about, from the first cause to what the job sees.
root_causes:
  - cause: TODO one thing that brings it about.
    tell: TODO how to tell that it was this one.
symptoms:
  - sign: TODO what one sees
    means: TODO what it means.
affected:
  - TODO systems and versions that have it
confirm:
  - command: |-
      echo TODO a command that shows it
    expect: TODO what it prints when it is this failure
fix:
  user:
    - do: TODO what the job's owner does.
      command: echo TODO
  admin:
    - do: TODO what the administrator does.
      command: echo TODO
verify:
  - command: echo TODO a command that shows that it is mended
    expect: TODO what it prints when all is well
prevention:
  - TODO what keeps it from coming back.
fingerprint:
  watch: TODO what to watch, in words.
  pattern: 'TODO a regular expression for a log alert'
related: []  # TODO - id and difference for each entry that is easily confused with it
tell:
  executive: TODO what it costs and who acts, without jargon.
  engineer: TODO the mechanism in two sentences.
  on_call: TODO the first command, and when to wake whom.
references:
  - TODO source file with version, manual page or public thread
examples:
  match:  # real lines; at least three
    - line: '[412331.551] TODO the wording, as a regular expression with one long literal'
      in: kernel
      from: TODO where the line comes from
    - line: 'Nov 30 05:30:00 node01 kernel: TODO the wording, as a regular expression with one long literal'
      in: kernel
      from: TODO another version of it
    - line: 'rank 3: TODO the wording, as a regular expression with one long literal'
      in: output
      from: TODO as a program prints it
  no_match:  # near misses: lines that look like it and are not; at least three
    - line: TODO a line that is nearly the same
      in: kernel
      why: TODO why it is not this failure
    - line: TODO the same words in a program's advice
      in: output
      why: TODO why it is not this failure
    - line: TODO what a healthy system prints
      in: kernel
      why: TODO why it is not this failure
"""


def scaffold(entry_id: str, schema: str = "../schema.json") -> str:
    """The text of a file that loads, whose examples hold, and in which everything is still to be written."""
    return _ENTRY.format(id=entry_id, schema=schema)
