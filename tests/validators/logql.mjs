// Reads a JSON list of LogQL expressions from standard input and prints each that Grafana's grammar cannot read.
import { readFileSync } from "node:fs";
import { parser } from "@grafana/lezer-logql";

for (const expression of JSON.parse(readFileSync(0, "utf8"))) {
  let broken = -1;
  parser.parse(expression).iterate({
    enter(node) {
      if (node.type.isError && broken < 0) broken = node.from;
    },
  });
  if (broken >= 0) console.log(`at ${broken}: ${expression}`);
}
