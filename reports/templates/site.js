(function () {
  "use strict";
  var WORD = /[A-Za-z0-9]+(?:_[A-Za-z0-9]+)*/g;
  var PART = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/g;

  function wordsOf(text) {
    var found = [];
    (text.match(WORD) || []).forEach(function (word) {
      found.push(word.toLowerCase());
      var parts = word.match(PART) || [];
      if (parts.length > 1) { parts.forEach(function (part) { found.push(part.toLowerCase()); }); }
    });
    return found;
  }

  function compiled(row) {
    try { return { test: new RegExp(row[0], row[1]), worth: row[2] }; } catch (error) { return null; }
  }

  function prepare(index) {
    var spread = new Map();
    var entries = index.entries.map(function (entry) {
      var worth = new Map();
      Object.keys(entry.words).forEach(function (value) {
        entry.words[value].split(" ").forEach(function (word) {
          worth.set(word, Number(value));
          spread.set(word, (spread.get(word) || 0) + 1);
        });
      });
      return { entry: entry, worth: worth, patterns: entry.patterns.map(compiled).filter(Boolean) };
    });
    return { common: new Set(index.common), leastShare: index.leastShare, entries: entries, spread: spread };
  }

  function worthOf(known, held, word) {
    function rare(other) { return Math.log(1 + known.entries.length / known.spread.get(other)); }
    if (held.has(word)) { return held.get(word) * rare(word); }
    if (word.length < 4) { return 0; }
    var best = 0;
    held.forEach(function (worth, other) {
      if (other.startsWith(word) || (other.length > 3 && word.startsWith(other))) { best = Math.max(best, worth * rare(other)); }
    });
    return best / 2;
  }

  function score(known, row, words, lines) {
    var worths = words.map(function (word) { return worthOf(known, row.worth, word); }).filter(Boolean);
    var sum = worths.reduce(function (one, other) { return one + other; }, 0);
    var byMatch = row.patterns.reduce(function (best, pattern) {
      return pattern.worth > best && lines.some(function (line) { return pattern.test.test(line); }) ? pattern.worth : best;
    }, 0);
    return sum * (0.4 + 0.6 * (words.length ? worths.length / words.length : 0)) + byMatch;
  }

  function rank(known, query, most) {
    var words = Array.from(new Set(wordsOf(query))).filter(function (word) { return !known.common.has(word); });
    var lines = query.split(/[\r\n]+/);
    var found = known.entries.map(function (row) { return { entry: row.entry, score: score(known, row, words, lines) }; });
    found = found.filter(function (one) { return one.score > 0; });
    found.sort(function (one, other) { return other.score - one.score || (one.entry.id < other.entry.id ? -1 : 1); });
    return found.filter(function (one) { return one.score >= found[0].score * known.leastShare; }).slice(0, most);
  }

  if (typeof document === "undefined") { globalThis.denpexSearch = { prepare: prepare, rank: rank }; return; }

  var field = document.getElementById("query");
  if (!field) { return; }
  var known = null;
  var results = document.getElementById("results");
  var count = document.getElementById("count");

  function item(entry) {
    var li = document.createElement("li");
    var link = document.createElement("a");
    link.href = entry.family + "/" + entry.id + ".html";
    link.textContent = entry.title;
    var id = document.createElement("code");
    id.className = "id";
    id.textContent = " " + entry.id;
    var answer = document.createElement("p");
    answer.textContent = entry.answer;
    li.append(link, id, answer);
    return li;
  }

  function show() {
    var query = field.value.slice(0, 4000);
    if (!query.trim()) { results.replaceChildren(); count.textContent = ""; return; }
    known = known || prepare(JSON.parse(document.getElementById("index").textContent));
    var found = rank(known, query, 12);
    results.replaceChildren.apply(results, found.map(function (one) { return item(one.entry); }));
    count.textContent = found.length === 1 ? "1 entry" : found.length + " entries";
  }

  var waiting = 0;
  field.addEventListener("input", function () { window.clearTimeout(waiting); waiting = window.setTimeout(show, 120); });
  document.getElementById("find").hidden = false;
  show();
}());
