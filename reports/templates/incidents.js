(function () {
  "use strict";
  var form = document.getElementById("filter");
  if (!form) { return; }
  var rows = Array.from(document.querySelectorAll("tr[data-user]"));
  var fields = Array.from(form.querySelectorAll("select"));
  function show() {
    var shown = 0;
    rows.forEach(function (row) {
      var fits = fields.every(function (field) { return !field.value || row.dataset[field.dataset.by] === field.value; });
      row.hidden = !fits;
      shown += fits ? 1 : 0;
    });
    document.getElementById("count").textContent = shown + " of " + rows.length;
  }
  form.addEventListener("change", show);
  form.addEventListener("submit", function (event) { event.preventDefault(); });
  form.hidden = false;
  show();
}());
