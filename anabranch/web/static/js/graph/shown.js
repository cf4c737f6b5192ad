// What of the lake is drawn: boxes for groups and cycles, and one item in place of what is collapsed.

import { fullName, namespaceOf, plural } from "../format.js";

/**
 * `choice`: `{fold: "none" | "groups" | "namespaces", folded: Set, unfolded: Set, near: {name, steps} | null}`.
 * Gives `items` (`{id, kind: "table" | "folded", names}`), `edges` (`{source, target, names}`), `boxes`.
 */
export function shown(store, choice) {
  let names = store.graph.nodes.map((node) => node.name);
  if (choice.near) {
    const close = neighbourhood(store, choice.near.name, choice.near.steps);
    names = names.filter((name) => close.has(name));
  }
  const visible = new Set(names);
  const found = groupings(store, choice.fold).map((group) => ({
    ...group, members: group.members.filter((name) => visible.has(name)),
  })).filter((group) => group.members.length > (group.kind === "namespace" ? 1 : 0));
  const isFolded = (group) => choice.folded.has(group.id)
    || (choice.fold === "groups" && group.kind !== "cycle" && !choice.unfolded.has(group.id))
    || (choice.fold === "namespaces" && group.kind === "namespace" && !choice.unfolded.has(group.id));

  const standsIn = new Map();
  for (const group of found) {
    if (isFolded(group)) for (const name of group.members) if (!standsIn.has(name)) standsIn.set(name, group.id);
  }
  const items = [];
  const have = new Set();
  for (const name of names) {
    const id = standsIn.get(name) ?? name;
    if (have.has(id)) continue;
    have.add(id);
    const group = found.find((each) => each.id === id);
    if (group && standsIn.has(name)) items.push({ id, kind: "folded", names: group.members, label: group.label, group });
    else items.push({ id, kind: "table", names: [name], label: name });
  }
  const edges = new Map();
  for (const { source, reader } of store.graph.edges) {
    if (!visible.has(source) || !visible.has(reader)) continue;
    const from = standsIn.get(source) ?? source;
    const to = standsIn.get(reader) ?? reader;
    if (from === to && from !== source) continue;
    const key = JSON.stringify([from, to]);
    if (!edges.has(key)) edges.set(key, { id: key, source: from, target: to });
  }
  return { items, edges: [...edges.values()], boxes: nested(found.filter((group) => !isFolded(group)), standsIn) };
}

/** Groups, cycles and, where asked for, namespaces; each `{id, kind, label, title, members}`. */
function groupings(store, fold) {
  const { graph } = store;
  const groups = new Map();
  const group = (id) => {
    const key = `group:${id}`;
    if (!groups.has(key)) groups.set(key, { id: key, kind: "group", members: [], number: id, notes: [] });
    return groups.get(key);
  };
  for (const member of graph.diamonds) {
    const entry = group(member.group_id);
    entry.members.push(fullName(member.member_schema, member.member_name));
    entry.epoch = member.epoch;
    entry.atomic = member.schedule_policy !== "none";
  }
  for (const declared of graph.groups) {
    const entry = group(declared.group_id ?? declared.group_name);
    entry.name = declared.group_name;
    entry.epoch = declared.epoch;
    entry.atomic = true;
    entry.isolation = declared.isolation;
    for (const name of [...declared.members, ...declared.implied_members]) {
      if (!entry.members.includes(name)) entry.members.push(name);
    }
  }
  const found = [...groups.values()];
  for (const entry of found) {
    entry.label = entry.name ?? `group ${entry.number}`;
    entry.title = [
      entry.name ? `group ${entry.name}` : "group",
      entry.atomic ? `epoch ${entry.epoch}` : "members refresh on their own",
    ].join(" · ");
  }
  for (const cycle of graph.cycles) {
    const twin = found.find((entry) => same(entry.members, cycle.members));
    const rest = cycle.last_iterations === null ? "" : ` · came to rest in ${plural(cycle.last_iterations, "pass", "passes")}`;
    if (twin) {
      Object.assign(twin, { kind: "cycle", title: `cycle · ${twin.title}${rest}` });
    } else {
      found.unshift({
        id: `cycle:${cycle.scc_id}`, kind: "cycle", label: `cycle ${cycle.scc_id}`,
        title: `cycle${rest}`, members: [...cycle.members],
      });
    }
  }
  if (fold === "namespaces") {
    const spaces = new Map();
    for (const { name } of graph.nodes) {
      const space = namespaceOf(name);
      if (!spaces.has(space)) spaces.set(space, []);
      spaces.get(space).push(name);
    }
    // A namespace may cut through a group, and boxes can't overlap: here they alone are drawn.
    return [...spaces].map(([space, members]) => ({
      id: `namespace:${space}`, kind: "namespace", label: space,
      title: `namespace ${space} · ${plural(members.length, "table")}`, members,
    }));
  }
  return found;
}

const same = (a, b) => a.length === b.length && a.every((name) => b.includes(name));

/** Boxes that hold each other: a cycle within a group stands in its box. */
function nested(groups, standsIn) {
  const boxes = [];
  const taken = new Map();
  for (const group of groups) {
    const members = group.members.map((name) => standsIn.get(name) ?? name);
    const free = [...new Set(members)].filter((id) => !taken.has(id));
    const within = new Set(members.map((id) => taken.get(id)).filter(Boolean));
    if (free.length === 0 && within.size < 2) continue;
    for (const id of within) boxes.find((box) => box.id === id).parent = group.id;
    for (const id of free) taken.set(id, group.id);
    boxes.push({ ...group, members: free, parent: null });
  }
  return boxes;
}

/** A table, and what is at most so many steps up or down from it. */
function neighbourhood(store, name, steps) {
  const found = new Set([name]);
  for (const next of [store.reads, store.readers]) {
    let edge = [name];
    for (let step = 0; step < steps && edge.length; step++) {
      edge = edge.flatMap((each) => next.get(each) ?? []).filter((each) => !found.has(each) || each === name);
      edge.forEach((each) => found.add(each));
    }
  }
  return found;
}

/** All that a table is made from, or all that is made from it. */
export function reach(next, name) {
  const found = new Set();
  const stack = [...(next.get(name) ?? [])];
  while (stack.length) {
    const each = stack.pop();
    if (found.has(each)) continue;
    found.add(each);
    stack.push(...(next.get(each) ?? []));
  }
  return found;
}
