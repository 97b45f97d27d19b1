import PushmillPayload
import PushmillStages

/// The whole of a replay as one JSON object: `differences`, one a line, then `summary`.
package final class JSONReport: ReplayReport {
    private var file: ReportFile
    private var isFirst = true

    package init(path: String) throws(ReplayError) {
        file = try ReportFile(path: path)
        try file.write("{\"differences\":[")
    }

    package func add(_ change: RecordChange) throws(ReplayError) {
        try file.write(isFirst ? "\n" : ",\n")
        isFirst = false
        try file.write(change.json.object)
    }

    package func finish(_ summary: ReplaySummary) throws(ReplayError) {
        try file.write("\n],\"summary\":")
        try file.write(summary.json.object)
        try file.write("}\n")
        try file.close()
    }
}

/// A JSON object being written.
struct JSONMembers {
    private(set) var bytes: [UInt8] = [UInt8(ascii: "{")]

    /// Nothing is written for nil.
    mutating func add(_ name: String, _ text: String?) {
        guard let text else { return }
        begin(name)
        bytes.append(quoted: text)
    }

    mutating func add(_ name: String, _ number: Int) { add(name, raw: Array("\(number)".utf8)) }

    mutating func add(_ name: String, raw json: [UInt8]) {
        begin(name)
        bytes += json
    }

    mutating func add(_ name: String, objects: [JSONMembers]) {
        begin(name)
        bytes.append(UInt8(ascii: "["))
        for (index, object) in objects.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += object.object
        }
        bytes.append(UInt8(ascii: "]"))
    }

    var object: [UInt8] { bytes + [UInt8(ascii: "}")] }

    private mutating func begin(_ name: String) {
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        bytes.append(quoted: name)
        bytes.append(UInt8(ascii: ":"))
    }
}

extension RecordChange {
    var json: JSONMembers {
        var members = JSONMembers()
        members.add("source", source)
        members.add("kind", "\(kind)")
        if kind == .changed {
            members.add(
                "fields",
                objects: fields.map { field in
                    var members = JSONMembers()
                    members.add("field", field.field)
                    members.add("before", field.before)
                    members.add("after", field.after)
                    return members
                })
        }
        if let before { members.add("before", raw: before.json.object) }
        if let after { members.add("after", raw: after.json.object) }
        return members
    }
}

extension RecordSide {
    var json: JSONMembers {
        var members = JSONMembers()
        members.add("key", key)
        members.add("outcome", outcome)
        if !app.isEmpty { members.add("app", app) }
        members.add("title", title)
        members.add("subtitle", subtitle)
        members.add("body", body)
        members.add("badge", badge)
        members.add("category", category)
        return members
    }
}

extension ReplaySummary {
    var json: JSONMembers {
        var members = JSONMembers()
        members.add("records", records)
        members.add("same", same)
        members.add("changed", changed)
        members.add("new", new)
        members.add("missing", missing)
        var outcomes = JSONMembers()
        for (name, counts) in self.outcomes.sorted(by: { $0.key < $1.key }) {
            var entry = JSONMembers()
            entry.add("before", counts.before)
            entry.add("after", counts.after)
            outcomes.add(name, raw: entry.object)
        }
        members.add("outcomes", raw: outcomes.object)
        members.add(
            "fields",
            objects: fields.map { field in
                var members = JSONMembers()
                members.add("field", field.name)
                members.add("count", field.count)
                return members
            })
        return members
    }
}
