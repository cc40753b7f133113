// The theme before the first paint; src/parts/theme.ts follows it later.
(function () {
  var theme = "system";
  try {
    theme = JSON.parse(localStorage.getItem("atoll.theme") || '"system"');
  } catch (e) {}
  var dark = theme === "dark" || (theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
