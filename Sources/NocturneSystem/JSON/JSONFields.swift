/// The members of a JSON object that a person writes by hand, with its place in the document for messages.
///
/// A decoder of Foundation would state a coding path and a Swift type, and would ignore a misspelt key; here a ``Fault`` names
/// the field and what is allowed.
package struct JSONFields {
    private let members: [String: JSONValue]
    private let place: String
    private let name: String?

    /// The object that is the whole document, strictly read; a byte order mark before it is allowed.
    package init(parsing bytes: [UInt8]) throws(Fault) {
        let document: JSONValue
        do {
            // Some editors put the mark before every text.
            document = try JSONValue(
                parsing: bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
            )
        } catch {
            throw Fault(field: "", detail: "is \(error)")
        }
        try self.init(document, place: "")
    }

    /// - Parameters:
    ///   - place: such as `regions[2]`; empty for the whole document.
    ///   - name: of the object, for messages, where it has one.
    package init(_ value: JSONValue, place: String, name: String? = nil) throws(Fault) {
        guard case .object(let members) = value else { throw Fault(field: place, detail: "is not an object") }
        self.members = members
        self.place = place
        self.name = name
    }

    /// What is wrong with a member of this object.
    package func fault(_ key: String, _ detail: String) -> Fault {
        Fault(field: path(key) + (name.map { " (\"\($0)\")" } ?? ""), detail: detail)
    }

    private func path(_ key: String) -> String { place.isEmpty ? key : "\(place).\(key)" }

    /// Refuses other members: a misspelt one would be ignored, and its default used without a word.
    package func only(_ known: [String]) throws(Fault) {
        if let key = members.keys.filter({ !known.contains($0) }).min() {
            throw fault(String(key.prefix(100)), "is unknown; known keys are \(known.joined(separator: ", "))")
        }
    }

    /// Whether there is a member of that name, of whatever kind.
    package func has(_ key: String) -> Bool { members[key] != nil }

    /// A member of any kind, which must be there.
    package func value(_ key: String) throws(Fault) -> JSONValue {
        guard let value = members[key] else { throw fault(key, "is missing") }
        return value
    }

    /// A member that must be an object.
    package func object(_ key: String) throws(Fault) -> JSONFields {
        let value = try value(key)
        guard case .object = value else { throw fault(key, "is not an object") }
        return try JSONFields(value, place: path(key), name: name)
    }

    /// The entries of a member that must be a list.
    package func list(_ key: String) throws(Fault) -> [JSONValue] {
        guard case .array(let list) = try value(key) else { throw fault(key, "is not a list") }
        return list
    }

    /// A member that must be true or false.
    package func boolean(_ key: String) throws(Fault) -> Bool {
        guard case .boolean(let value) = try value(key) else { throw fault(key, "is not true or false") }
        return value
    }

    /// A member that must be a number within a range.
    package func number(_ key: String, in range: ClosedRange<Double>) throws(Fault) -> Double {
        guard case .number(let number) = try value(key) else { throw fault(key, "is not a number") }
        guard range.contains(number) else {
            throw fault(key, "is \(number), not from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// A member that must be an integer within a range.
    package func whole(_ key: String, in range: ClosedRange<Int>) throws(Fault) -> Int {
        guard case .number(let number) = try value(key) else { throw fault(key, "is not a number") }
        guard let whole = Int(exactly: number) else { throw fault(key, "is \(number), not an integer") }
        guard range.contains(whole) else {
            throw fault(key, "is \(whole), not from \(range.lowerBound) to \(range.upperBound)")
        }
        return whole
    }

    /// A member that must be a text of one line.
    /// - Parameter count: the most bytes in UTF-8.
    package func text(_ key: String, atMost count: Int) throws(Fault) -> String {
        try text(value(key), key, atMost: count)
    }

    private func text(_ value: JSONValue, _ key: String, atMost count: Int) throws(Fault) -> String {
        guard let text = value.text else { throw fault(key, "is not a text") }
        guard !text.isEmpty, text.utf8.count <= count, !text.unicodeScalars.contains(where: { $0.value < 32 }) else {
            throw fault(key, "is empty, longer than \(count) bytes, or has a control character")
        }
        return text
    }

    /// A member that must be one of the words of an enumeration.
    package func choice<Word: RawRepresentable<String> & CaseIterable>(_ key: String) throws(Fault) -> Word {
        try choice(value(key), key)
    }

    /// The word of an enumeration that a value, a member or part of one, must be.
    package func choice<Word: RawRepresentable<String> & CaseIterable>(
        _ value: JSONValue,
        _ key: String
    ) throws(Fault) -> Word {
        let text = try text(value, key, atMost: 100)
        guard let word = Word(rawValue: text) else {
            throw fault(key, "is \"\(text)\", not one of \(Word.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return word
    }

    /// The numbers within a range that a value, a member or part of one, must have.
    package func numbers(
        _ value: JSONValue,
        _ key: String,
        count: Int,
        in range: ClosedRange<Double>
    ) throws(Fault) -> [Double] {
        guard case .array(let list) = value, list.count == count else { throw fault(key, "is not \(count) numbers") }
        var numbers: [Double] = []
        for entry in list {
            guard case .number(let number) = entry, range.contains(number) else {
                let ends = "\(range.lowerBound) to \(range.upperBound)"
                throw fault(key, "has an entry that is not a number from \(ends)")
            }
            numbers.append(number)
        }
        return numbers
    }

    /// Why a document cannot be used.
    package struct Fault: Error, Hashable, Sendable {
        /// For example `regions[2].radiusMm ("lesion")`; empty for the document as a whole.
        package let field: String
        /// What is wrong with the field.
        package let detail: String
    }
}
