"use strict";

/* Times in the reader's own zone. The server writes them in the zone it knows of (a cookie), so
   this only acts on a first visit, and when somebody has travelled. */

(() => {
  const root = document.documentElement;
  if (root.dataset.zoneChosen === "yes") return;
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (!zone || zone === root.dataset.zone) return;
  const year = 365 * 24 * 3600;
  const secure = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = `console_zone_seen=${zone}; Path=/; Max-Age=${year}; SameSite=Lax${secure}`;

  const parts = (moment, asked) => {
    const formatted = new Intl.DateTimeFormat("en-GB", { ...asked, timeZone: zone });
    return Object.fromEntries(formatted.formatToParts(moment).map((p) => [p.type, p.value]));
  };
  const WHOLE = {
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
  };

  // the same words as curation/templatetags/console.py, `when`
  const written = (moment, style) => {
    const p = parts(moment, WHOLE);
    const now = parts(new Date(), WHOLE);
    const month = p.month.slice(0, 3);
    const day = `${p.day} ${month} ${p.year}`;
    if (style === "long") return `${day}, ${p.hour}:${p.minute}:${p.second}`;
    if (style === "date") return day;
    if (day === `${now.day} ${now.month.slice(0, 3)} ${now.year}`) return `${p.hour}:${p.minute}`;
    if (p.year === now.year) return `${p.day} ${month}, ${p.hour}:${p.minute}`;
    return day;
  };

  const rewrite = (within) => {
    for (const time of within.querySelectorAll("time[data-style]")) {
      time.textContent = written(new Date(time.dateTime), time.dataset.style);
    }
  };

  rewrite(document);
})();
