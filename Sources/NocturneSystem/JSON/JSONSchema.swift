internal import Foundation

/// The part of JSON Schema (draft 2020-12) that Nocturne's own schemas use, whole and strict.
///
/// A schema that uses another keyword is refused when it is read. The standard has what is not known passed over, and
/// libraries of it do so; here a rule that is misspelt is found.
package struct JSONSchema: Sendable {
    private let root: Node
    private let definitions: [String: Node]

    /// - Throws: ``JSONSchema/Unusable``, `JSONValue.SyntaxError`.
    package init(_ bytes: [UInt8]) throws {
        let document = try JSONValue(parsing: bytes)
        root = try Node(document, "#")
        var definitions: [String: Node] = [:]
        if case .object(let members)? = document["$defs"] {
            for (name, member) in members { definitions[name] = try Node(member, "#/$defs/\(name)") }
        }
        self.definitions = definitions
        for node in [root] + Array(definitions.values) {
            for name in node.references where definitions[name] == nil {
                throw Unusable(description: "the schema has no #/$defs/\(name)")
            }
        }
    }

    /// One that is part of the program, and that a test reads.
    package init(own bytes: [UInt8]) {
        do {
            try self.init(bytes)
        } catch {
            preconditionFailure("a schema of the program itself: \(error)")
        }
    }

    /// Every way in which the document does not fit, with its place, in the order of the document's keys.
    package func faults(in document: JSONValue) -> [String] {
        var faults: [String] = []
        check(document, root, "$", &faults)
        return faults
    }

    /// As ``faults(in:)-(JSONValue)`` of the text of a document.
    package func faults(in bytes: [UInt8]) throws(JSONValue.SyntaxError) -> [String] {
        faults(in: try JSONValue(parsing: bytes))
    }

    // MARK: Checking

    private func check(_ value: JSONValue, _ schema: Node, _ place: String, _ faults: inout [String]) {
        if let name = schema.reference, let target = definitions[name] { check(value, target, place, &faults) }
        if let types = schema.types, !types.contains(where: { $0.holds(value) }) {
            faults.append("\(place): is not \(types.map(\.rawValue).joined(separator: " or "))")
            return
        }
        if let choices = schema.choices, !choices.contains(value) {
            faults.append("\(place): \(words(value)) is not \(choices.map(words).joined(separator: " or "))")
        }
        switch value {
        case .object(let members): check(members, schema, place, &faults)
        case .array(let elements):
            let counts = (schema.fewestItems ?? 0)...max(schema.fewestItems ?? 0, schema.mostItems ?? .max)
            if !counts.contains(elements.count) { faults.append("\(place): has \(elements.count) elements") }
            guard let items = schema.items?.first else { return }
            for (index, element) in elements.enumerated() { check(element, items, "\(place)[\(index)]", &faults) }
        case .string(let text):
            if let pattern = schema.pattern,
                pattern.rangeOfFirstMatch(in: text, range: text.whole).location == NSNotFound
            {
                faults.append("\(place): \(words(value)) does not fit \(pattern.pattern)")
            }
            if let least = schema.shortest, text.unicodeScalars.count < least {
                faults.append("\(place): is shorter than \(least)")
            }
        case .number(let number):
            if let least = schema.minimum, number < least { faults.append("\(place): \(number) is below \(least)") }
            if let most = schema.maximum, number > most { faults.append("\(place): \(number) is above \(most)") }
        case .null, .boolean: break
        }
    }

    private func check(_ members: [String: JSONValue], _ schema: Node, _ place: String, _ faults: inout [String]) {
        for key in schema.required where members[key] == nil { faults.append("\(place): has no \(key)") }
        for (key, member) in members.sorted(by: { $0.key < $1.key }) {
            if let expected = schema.properties[key] {
                check(member, expected, "\(place).\(key)", &faults)
            } else if let others = schema.others?.first {
                check(member, others, "\(place).\(key)", &faults)
            } else if schema.isSealed {
                faults.append("\(place): \(key) is not expected")
            }
        }
    }

    private func words(_ value: JSONValue) -> String {
        switch value {
        case .null: "null"
        case .boolean(let value): "\(value)"
        case .number(let number): "\(number)"
        case .string(let text): "\"\(text.prefix(80))\""
        case .array: "a list"
        case .object: "an object"
        }
    }
}

extension JSONSchema {
    private enum Kind: String, Sendable {
        case null, boolean, integer, number, string, array, object

        func holds(_ value: JSONValue) -> Bool {
            switch (self, value) {
            case (.null, .null), (.boolean, .boolean), (.number, .number), (.string, .string), (.array, .array),
                (.object, .object):
                true
            case (.integer, .number(let number)): number == number.rounded()
            default: false
            }
        }
    }

    /// One schema within the document.
    private struct Node: Sendable {
        var reference: String?
        var types: [Kind]?
        var choices: [JSONValue]?
        var required: [String] = []
        var properties: [String: Node] = [:]
        /// What members that are not named must be: at most one.
        var others: [Node]?
        /// Whether there may be none that is not named.
        var isSealed = false
        /// Of each element: at most one.
        var items: [Node]?
        var fewestItems: Int?
        var mostItems: Int?
        var shortest: Int?
        var minimum: Double?
        var maximum: Double?
        var pattern: NSRegularExpression?

        /// The definitions that are named in it.
        var references: [String] {
            (reference.map { [$0] } ?? [])
                + (Array(properties.values) + (others ?? []) + (items ?? [])).flatMap(\.references)
        }

        init(_ value: JSONValue, _ place: String) throws {
            guard case .object(let members) = value else {
                throw Unusable(description: "\(place) is not a schema")
            }
            for (keyword, value) in members.sorted(by: { $0.key < $1.key }) {
                guard try take(keyword, value, place) else {
                    throw Unusable(description: "\(place): \(keyword) is not known, or not in this form")
                }
            }
        }

        private mutating func take(_ keyword: String, _ value: JSONValue, _ place: String) throws -> Bool {
            switch (keyword, value) {
            case ("$schema", .string), ("$id", .string), ("title", .string), ("description", .string): return true
            case ("$defs", .object): return place == "#"
            case ("$ref", .string(let target)):
                guard target.hasPrefix("#/$defs/") else { return false }
                reference = String(target.dropFirst("#/$defs/".count))
            case ("type", .string(let name)): types = [try kind(name, place)]
            case ("type", .array(let names)):
                types = try names.map { try kind($0.text ?? "", place) }
            case ("const", _): choices = [value]
            case ("enum", .array(let values)): choices = values
            case ("required", .array(let names)): required = names.compactMap(\.text)
            case ("properties", .object(let members)):
                properties = try Dictionary(
                    uniqueKeysWithValues: members.map { ($0.key, try Node($0.value, "\(place)/\($0.key)")) }
                )
            case ("additionalProperties", .boolean(let allowed)): isSealed = !allowed
            case ("additionalProperties", .object): others = [try Node(value, "\(place)/*")]
            case ("items", .object): items = [try Node(value, "\(place)/[]")]
            case ("minItems", .number(let number)): fewestItems = Int(number)
            case ("maxItems", .number(let number)): mostItems = Int(number)
            case ("minLength", .number(let number)): shortest = Int(number)
            case ("minimum", .number(let number)): minimum = number
            case ("maximum", .number(let number)): maximum = number
            case ("pattern", .string(let text)): pattern = try NSRegularExpression(pattern: text)
            default: return false
            }
            return true
        }

        private func kind(_ name: String, _ place: String) throws -> Kind {
            guard let kind = Kind(rawValue: name) else {
                throw Unusable(description: "\(place): there is no type \(name)")
            }
            return kind
        }
    }
}

extension String {
    fileprivate var whole: NSRange { NSRange(startIndex..., in: self) }
}

extension JSONSchema {
    /// A schema that cannot be used.
    package struct Unusable: Error, Hashable, Sendable, CustomStringConvertible {
        /// Where the schema is wrong and why.
        package let description: String
    }
}
