//! Generated project directories: connectors, workflows, channels, shared definitions and test cases that pass, the same
//! for the same seed.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

/// The query that the workflows of a generated project send, and what it answers.
pub const QUERY: &str = "SELECT 1 AS n";

/// The size of a generated project.
#[derive(Clone, Copy, Debug)]
pub struct GeneratedProject {
    /// Selects the shapes of the workflows, and prefixes every id.
    pub seed: usize,
    /// Workflows, each behind a channel of the same id.
    pub workflows: usize,
    /// Fragments that the workflows call in turn.
    pub fragments: usize,
    /// Test cases, spread over the workflows.
    pub cases: usize,
}

impl GeneratedProject {
    /// Writes the project into a directory. `database` is the connection string of its connector.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, directory: &Path, database: &str) -> io::Result<()> {
        for folder in ["connectors", "workflows", "channels", "shared", "tests"] {
            fs::create_dir_all(directory.join(folder))?;
        }
        let connector = json!({"name": self.connector(), "connector_type": "db",
            "config": {"connection_string": database, "allow_private_urls": true}});
        write(&directory.join("connectors/shop.json"), &connector)?;
        for fragment in 0..self.fragments {
            write(&directory.join(format!("shared/f{fragment}.json")), &fragment_document(fragment))?;
        }
        for workflow in 0..self.workflows {
            let id = self.id(workflow);
            write(&directory.join(self.workflow_file(workflow)), &self.workflow(workflow))?;
            let channel = json!({"channel_id": id, "name": id, "channel_type": "sync", "protocol": "rest",
                "methods": ["POST"], "route_pattern": format!("/{id}"), "workflow_id": id,
                "config": {"request": {"body_mode": "payload"}, "tracing": {"mode": "off"}}});
            write(&directory.join(format!("channels/{id}.json")), &channel)?;
        }
        for case in 0..self.cases {
            write(&directory.join(format!("tests/c{case}.case.json")), &self.case(case))?;
        }
        Ok(())
    }

    /// Returns the id of a workflow and its channel.
    pub fn id(&self, workflow: usize) -> String {
        format!("p{}-w{workflow}", self.seed)
    }

    /// Returns the path of a workflow in the directory.
    pub fn workflow_file(&self, workflow: usize) -> String {
        // JSON is YAML too.
        let format = if (self.seed + workflow).is_multiple_of(5) { "yaml" } else { "json" };
        format!("workflows/{}.{format}", self.id(workflow))
    }

    /// Returns stubs that answer as the database does.
    pub fn stubs(&self) -> Value {
        json!({"db_read": {&self.connector(): [{"n": 1}]}})
    }

    /// Returns an input of a workflow.
    pub fn input(&self, round: usize) -> Value {
        json!({"qty": (self.seed * 7 + round * 3) % 40})
    }

    /// Returns the members of `data` that a workflow ends with, for the input of a round; null for an absent one.
    pub fn outcome(&self, workflow: usize, round: usize) -> Value {
        let quantity = self.input(round)["qty"].as_u64().unwrap_or_default();
        let is_large = quantity > self.limit(workflow) as u64;
        let total = quantity * unit_price(self.fragment(workflow));
        json!({"large": is_large, "total": total, "rows": is_large.then(|| json!([{"n": 1}]))})
    }

    fn connector(&self) -> String {
        format!("p{}-shop", self.seed)
    }

    fn fragment(&self, workflow: usize) -> usize {
        workflow % self.fragments.max(1)
    }

    fn limit(&self, workflow: usize) -> usize {
        (self.seed + workflow) % 30
    }

    fn workflow(&self, workflow: usize) -> Value {
        let fragment = self.fragment(workflow);
        let map = |id: &str, path: &str, logic: Value| {
            let input = json!({"mappings": [{"path": path, "logic": logic}]});
            json!({"id": id, "name": id, "function": {"name": "map", "input": input}})
        };
        let mut load = json!({"id": "load", "name": "Load", "function": {"name": "db_read",
            "input": {"connector": self.connector(), "query": QUERY, "output": "data.rows"}}});
        load["condition"] = json!({"var": "data.large"});
        let price = json!({"*": [{"var": "data.order.qty"}, {"$from": format!("prices_{fragment}.unit")}]});
        let price = map("price", "data.total", price);
        let last = match (self.seed + workflow) % 3 {
            0 => json!({"id": "end", "tasks": [load, price]}),
            1 => {
                json!({"id": "end", "condition": true, "tasks": [json!({"id": "inner", "tasks": [load]}), price]})
            }
            _ => map("note", "data.note", json!({"cat": ["order of ", {"var": "data.order.qty"}]})),
        };
        let mut tasks = vec![
            json!({"id": "take", "name": "Take", "function": {"name": "parse_json",
                "input": {"source": "payload", "target": "order"}}}),
            json!({"id": "guard", "use": format!("guard_{fragment}"), "with": {"limit": self.limit(workflow)}}),
        ];
        if (self.seed + workflow) % 3 == 2 {
            tasks.extend([load, price]);
        }
        tasks.push(last);
        json!({"workflow_id": self.id(workflow), "name": self.id(workflow), "tasks": tasks})
    }

    fn case(&self, case: usize) -> Value {
        let workflow = case % self.workflows.max(1);
        let outcome = self.outcome(workflow, case);
        let is_large = outcome["large"] == true;
        let calls =
            if is_large { json!([{"connector": self.connector(), "query": QUERY}]) } else { json!([]) };
        json!({
            "workflow": format!("../{}", self.workflow_file(workflow)),
            "input": self.input(case),
            "stubs": self.stubs(),
            "expect": {
                "data.large": outcome["large"],
                "data.total": outcome["total"],
                "data.rows": outcome["rows"],
            },
            "expect_calls": {"db_read": calls},
        })
    }
}

const fn unit_price(fragment: usize) -> u64 {
    3 + fragment as u64
}

fn fragment_document(fragment: usize) -> Value {
    let mappings = json!([
        {"path": "data.limit", "logic": {"$param": "limit"}},
        {"path": "data.large", "logic": {">": [{"var": "data.order.qty"}, {"$param": "limit"}]}},
    ]);
    let task =
        json!({"id": "limit", "name": "Limit", "function": {"name": "map", "input": {"mappings": mappings}}});
    let mut document = json!({"fragments": {}});
    document["fragments"][format!("guard_{fragment}")] =
        json!({"params": {"limit": {"default": 10}}, "tasks": [task]});
    document[format!("prices_{fragment}")] = json!({"unit": unit_price(fragment)});
    document
}

fn write(path: &Path, document: &Value) -> io::Result<()> {
    fs::write(path, format!("{document:#}\n"))
}
