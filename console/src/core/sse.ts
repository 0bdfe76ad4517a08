// The text format of server-sent events.

/** One event of a stream. */
export interface StreamEvent {
  id: string | null;
  type: string;
  data: string;
}

/** Reads events from pieces of text, which may end anywhere. */
export class EventParser {
  private rest = "";
  private id: string | null = null;
  private type = "";
  private data: string[] = [];

  /** Takes a piece of text, and returns the events that it completes. */
  push(piece: string): StreamEvent[] {
    const lines = (this.rest + piece).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? "";
    const events: StreamEvent[] = [];
    for (const line of lines) {
      const event = this.line(line);
      if (event !== null) events.push(event);
    }
    return events;
  }

  private line(line: string): StreamEvent | null {
    if (line === "") return this.finish();
    const colon = line.indexOf(":");
    if (colon === 0) return null;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "id") this.id = value;
    else if (name === "event") this.type = value;
    else if (name === "data") this.data.push(value);
    return null;
  }

  private finish(): StreamEvent | null {
    const { id, type, data } = this;
    this.type = "";
    this.data = [];
    return data.length === 0 ? null : { id, type: type === "" ? "message" : type, data: data.join("\n") };
  }
}
