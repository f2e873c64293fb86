"""Formats the results of the clients."""

SIGNS = {"ok": "ok", "FAIL": "FAIL", "none": "-"}


def text(results, cases):
    """Returns the matrix for a terminal: a line for each client, a column for each case of the common session."""
    common, tools = split(results, cases)
    lines = []
    if common:
        width = max(len(r.client) for r in common)
        lines += [" " * width + "  " + "  ".join(f"{n:>4}" for n in range(1, len(cases) + 1))]
        for r in common:
            lines.append(f"{r.client:{width}}  " + "  ".join(f"{sign(r, case):>4}" for case in cases))
        lines += ["", ", ".join(f"{n} {case}" for n, case in enumerate(cases, 1))]
    for r in tools:
        lines.append(f"{r.client}: " + ", ".join(f"{case} {sign(r, case)}" for case in r.cases))
    return "\n".join(lines)


def markdown(results, cases):
    """Returns the matrix as Markdown tables."""
    common, tools = split(results, cases)
    rows = []
    if common:
        rows += [row("client", *cases), row(*["---"] + [":-:"] * len(cases))]
        rows += [row(f"`{r.client}`", *(sign(r, case) for case in cases)) for r in common]
    if tools:
        rows += ["", row("tool", "shown"), row("---", "---")]
        rows += [row(f"`{r.client}`", ", ".join(f"{case} {sign(r, case)}" for case in r.cases)) for r in tools]
    return "\n".join(rows)


def split(results, cases):
    """Separates the clients of the common session from those with cases of their own."""
    common = [r for r in results if set(r.cases) <= set(cases)]
    return common, [r for r in results if r not in common]


def sign(result, case):
    return SIGNS.get(result.said.get(case), "")


def row(*cells):
    return "| " + " | ".join(cells) + " |"
