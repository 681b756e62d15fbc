// Puts the views into the page, for the plan that is shown, and answers keys.

const report = JSON.parse(document.getElementById('report-data').textContent);
const models = report.plans.map((plan) => new Model(plan));
const views = {};

// `models[which]` in all views. A tensor that was open stays open where the plan has it.
function showPlan(which) {
  const model = models[which];
  const put = (id, view) => {
    views[id] = view;
    document.getElementById(id).replaceChildren(view.root);
  };
  put('heat-map', new HeatMap(model, models[1 - which]));
  put('nic-bars', new NicBars(model));
  put('timeline-view', new TimelineView(model));
  put('tensor-view', new TensorView(model));
  put('flow-table', new Flows(model));
  openAddress();
}

// "#tensor=NAME" in the page's address opens that tensor.
function openAddress() {
  const match = /^#tensor=(.*)$/.exec(location.hash);
  if (!match) return;
  let name = match[1];
  try { name = decodeURIComponent(name); } catch { return; }
  if (views['tensor-view'].openByName(name)) document.getElementById('tensor').scrollIntoView();
}

const themes = ['auto', 'light', 'dark'];
let theme = 0;
const themeButton = el('button', {
  type: 'button', id: 'theme',
  click: () => {
    theme = (theme + 1) % themes.length;
    if (theme === 0) delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = themes[theme];
    themeButton.textContent = 'Theme: ' + themes[theme];
  },
}, 'Theme: auto');

const tools = document.getElementById('tools');
if (models.length > 1) {
  tools.append(choice('Showing', [[0, 'first'], [1, 'second']], 1, showPlan));
}
tools.append(themeButton);
showPlan(models.length - 1);
addEventListener('hashchange', openAddress);
NARROW.addEventListener('change', () => {
  views['heat-map'].draw();
  views['timeline-view'].draw();
});
// Views draw themselves anew, and what they hold may scroll by then.
new MutationObserver(markCut).observe(document.querySelector('main'), { childList: true, subtree: true });
addEventListener('scroll', markCut, { capture: true, passive: true });
addEventListener('resize', markCut);
markCut();
addEventListener('beforeprint', () => {
  document.querySelectorAll('details').forEach((details) => { details.open = true; });
});
addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || event.target.matches('input')) return;
  event.preventDefault();
  document.getElementById('tensor-search').focus();
});
