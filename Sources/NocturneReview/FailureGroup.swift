import NocturneBatch

/// Items that were not completed for the same kind of reason.
struct FailureGroup: Encodable, Equatable {
    /// The reason without what differs between the items.
    let code: String
    let remedy: String
    let count: Int
    /// Places in the report.
    let items: [Int]

    private static let longestCode = 100

    /// The most frequent first.
    static func all(_ entries: [BatchReport.Report.Entry]) -> [FailureGroup] {
        var places: [String: [Int]] = [:]
        for (place, entry) in entries.enumerated() where entry.state != "completed" {
            places[entry.reason.map(code) ?? entry.state, default: []].append(place)
        }
        return places.map { code, items in
            FailureGroup(code: code, remedy: remedy(entries[items[0]].state), count: items.count, items: items)
        }
        .sorted { ($1.count, $0.code) < ($0.count, $1.code) }
    }

    /// Paths and numbers are left out, so that reasons about different files are the same.
    static func code(_ reason: String) -> String {
        let words = reason.split(separator: " ").map { word -> String in
            if word.contains("/") { return word.hasSuffix(":") ? "…:" : "…" }
            return String(word.map { $0.isNumber ? "0" : $0 })
        }
        var text = ""
        for character in words.joined(separator: " ") where !(character == "0" && text.hasSuffix("0")) {
            text.append(character)
        }
        return text.count > longestCode ? text.prefix(longestCode) + "…" : text
    }

    private static func remedy(_ state: String) -> String {
        switch state {
        case "failed": "Read the reason, mend the input or the options, then use `nocturne retry`."
        case "quarantined": "The engine crashed on these items. Report it; `nocturne retry` tries them again."
        case "cancelled": "`nocturne retry` processes them."
        case "notReached": "`nocturne resume` processes them."
        default: "These files are not inputs of the batch's models."
        }
    }
}
