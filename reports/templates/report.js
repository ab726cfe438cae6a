(function () {
  "use strict";
  function select(code) {
    var range = document.createRange();
    range.selectNodeContents(code);
    var selection = window.getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
  }
  function say(button, text) {
    button.textContent = text;
    window.setTimeout(function () { button.textContent = "Copy"; }, 2000);
  }
  document.querySelectorAll("button.copy").forEach(function (button) {
    button.hidden = false;
    button.addEventListener("click", function () {
      var code = button.parentNode.querySelector("code");
      var selected = function () { select(code); say(button, "Selected"); };
      if (!navigator.clipboard) { selected(); return; }
      navigator.clipboard.writeText(code.textContent).then(function () { say(button, "Copied"); }, selected);
    });
  });
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details").forEach(function (details) { details.open = true; });
  });
}());
