"""Mutations of a workflow: each is one small change, as a person makes it by mistake."""

import copy
import json

# An operator and the one that takes its place.
OPERATORS = {
    ">": ">=", ">=": ">", "<": "<=", "<=": "<", "==": "!=", "!=": "==", "===": "!==", "!==": "===",
    "and": "or", "or": "and", "!": "!!", "!!": "!", "+": "-", "-": "+", "*": "/", "/": "*", "%": "*",
    "upper": "lower", "lower": "upper",
}
# Operators whose arguments are searched for constants, and nothing else.
OTHERS = {"if", "??", "cat", "filter", "map", "reduce", "length", "in", "split", "try", "type", "url_encode"}


def is_expression(node):
    """Whether a value is an operator with its arguments."""
    return isinstance(node, dict) and len(node) == 1 and next(iter(node)) in OPERATORS.keys() | OTHERS


def change_constant(value):
    """Another constant of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    return f"{value}x"


def variables(node):
    """The paths that a part of a workflow reads."""
    if isinstance(node, dict):
        if set(node) == {"var"}:
            path = node["var"][0] if isinstance(node["var"], list) and node["var"] else node["var"]
            return {path} if isinstance(path, str) and path else set()
        node = list(node.values())
    return set().union(*map(variables, node)) if isinstance(node, list) else set()


class Sites:
    """The places of a workflow that a mutation may change."""

    def __init__(self, workflow):
        self.workflow, self.found, self.paths = workflow, [], sorted(variables(workflow["tasks"]))
        if "condition" in workflow:
            self.visit_condition(workflow, ())
        self.visit_tasks(workflow["tasks"], ("tasks",))

    def add(self, kind, text, path, change):
        self.found.append((kind, text, path, change))

    def visit_tasks(self, tasks, path):
        for index, task in enumerate(tasks):
            at = (*path, index)
            if len(tasks) > 1:
                self.add("task dropped", task["id"], path, lambda tasks, index=index: tasks.pop(index))
            if index + 1 < len(tasks):
                self.add("tasks swapped", f"{task['id']} and {tasks[index + 1]['id']}", path,
                         lambda tasks, index=index: tasks.insert(index, tasks.pop(index + 1)))
            if task.get("terminal"):
                self.add("end dropped", task["id"], at, lambda task: task.pop("terminal"))
            if "condition" in task:
                self.visit_condition(task, at)
            for key, value in task.items():
                if key == "tasks":
                    self.visit_tasks(value, (*at, key))
                elif key not in ("id", "name", "condition", "retry", "timeout_ms", "terminal"):
                    self.visit(value, (*at, key))

    def visit_condition(self, holder, at):
        name = holder.get("id", holder.get("workflow_id"))
        self.add("condition dropped", name, at, lambda holder: holder.pop("condition"))
        self.visit(holder["condition"], (*at, "condition"))

    def visit(self, node, path):
        """Visits a part of a task: expressions within it, and the paths that mappings write."""
        if isinstance(node, list):
            for index, part in enumerate(node):
                self.visit(part, (*path, index))
        elif isinstance(node, dict):
            if set(node) == {"var"} or is_expression(node):
                self.visit_expression(node, path)
                return
            if {"path", "logic"} <= set(node):
                self.add("target", node["path"], path, lambda node: node.update(path=node["path"] + "_x"))
                if not isinstance(node["logic"], (dict, list)) and node["logic"] is not None:
                    self.add_constant(node["logic"], path, "logic")
            for key, part in node.items():
                self.visit(part, (*path, key))

    def visit_expression(self, node, path):
        (operator, arguments), = node.items()
        at = (*path, operator)
        if operator == "var":
            name = arguments[0] if isinstance(arguments, list) and arguments else arguments
            if not isinstance(name, str) or not name:
                return
            for other in [other for other in self.paths if other != name][:1] + [name + "_x"]:
                self.add("variable", f"{name} to {other}", path, lambda node, other=other: node.update(var=other))
            return
        if operator in OPERATORS:
            other = OPERATORS[operator]
            self.add("operator", f"{operator} to {other}", path,
                     lambda node, operator=operator, other=other: node.update({other: node.pop(operator)}))
        if operator == "if" and len(arguments) >= 3:
            self.add("branches swapped", json.dumps(arguments[1:3]), at,
                     lambda branches: branches.insert(1, branches.pop(2)))
        if operator == "??" and len(arguments) >= 2:
            self.add("branches swapped", json.dumps(arguments[:2]), at,
                     lambda branches: branches.insert(0, branches.pop(1)))
        parts = arguments if isinstance(arguments, list) else [arguments]
        for index, part in enumerate(parts):
            if isinstance(part, (dict, list)):
                self.visit(part, (*at, index) if isinstance(arguments, list) else at)
            elif part is not None and isinstance(arguments, list):
                self.add_constant(part, at, index)

    def add_constant(self, value, path, key):
        other = change_constant(value)
        self.add("constant", f"{json.dumps(value)} to {json.dumps(other)}", path,
                 lambda holder: holder.__setitem__(key, other))


def find_mutations(workflow):
    """The mutations of a workflow: kind, text, and the changed workflow."""
    for kind, text, path, change in Sites(workflow).found:
        mutant = copy.deepcopy(workflow)
        node = mutant
        for key in path:
            node = node[key]
        change(node)
        if mutant != workflow:
            yield kind, text, mutant
