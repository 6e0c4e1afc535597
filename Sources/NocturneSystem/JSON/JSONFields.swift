/// The members of a JSON object that a person writes by hand, with its place in the document for messages.
///
/// A decoder of Foundation would state a coding path and a Swift type, and would ignore a misspelt key; here a ``Fault`` names
/// the field and what is allowed.
package struct JSONFields: Sendable {
    let members: [String: JSONValue]
    private let place: String
    let name: String?
    let allowsRemarks: Bool

    /// The object that is the whole document, strictly read; a byte order mark before it is allowed.
    /// - Parameter allowsRemarks: Members whose names begin with `_` are remarks for people, and those that are null are as if they
    ///   were not there.
    package init(parsing bytes: [UInt8], allowsRemarks: Bool = false) throws(Fault) {
        let document: JSONValue
        do {
            // Some editors put the mark before every text.
            document = try JSONValue(
                parsing: bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
            )
        } catch {
            throw Fault(kind: .syntax, field: "", detail: "is \(error)")
        }
        try self.init(document, place: "", allowsRemarks: allowsRemarks)
    }

    /// - Parameters:
    ///   - place: such as `regions[2]`; empty for the whole document.
    ///   - name: of the object, for messages, where it has one.
    ///   - allowsRemarks: as for the whole document.
    package init(_ value: JSONValue, place: String, name: String? = nil, allowsRemarks: Bool = false) throws(Fault) {
        guard case .object(let members) = value else {
            throw Fault(kind: .invalid, field: place, detail: "is not an object")
        }
        self.init(members: members, place: place, name: name, allowsRemarks: allowsRemarks)
    }

    init(members: [String: JSONValue], place: String, name: String?, allowsRemarks: Bool) {
        self.members = members
        self.place = place
        self.name = name
        self.allowsRemarks = allowsRemarks
    }

    /// What is wrong with a member of this object, or with an entry of one, such as `points[2]`.
    package func fault(_ key: String, _ detail: String) -> Fault { fault(key, .invalid, detail) }

    /// The same for a value that is another than was expected.
    /// - Parameter found: shown as text, shortened to 80 characters.
    package func fault(_ key: String, is found: some Any, not expected: String) -> Fault {
        // In one line, as all messages.
        let text = "\(found)".replacing(/\p{Cc}/, with: "\u{FFFD}")
        let shown = text.count > 80 ? text.prefix(80) + "…" : text[...]
        return fault(key, "is \(found is String ? "\"\(shown)\"" : String(shown)), not \(expected)")
    }

    private func fault(_ key: String, _ kind: Fault.Kind, _ detail: String) -> Fault {
        // The document may have texts of any length.
        let shown = detail.count > 500 ? detail.prefix(500) + "…" : detail[...]
        return Fault(kind: kind, field: path(key) + (name.map { " (\"\($0)\")" } ?? ""), detail: String(shown))
    }

    func path(_ key: String) -> String { place.isEmpty ? key : "\(place).\(key)" }

    /// Refuses other members: a misspelt one would be ignored, and its default used without a word.
    /// - Parameter allowsObjects: Whether other members may be objects.
    package func only(_ known: [String], allowsObjects: Bool = false) throws(Fault) {
        let others = members.filter { key, value in
            if known.contains(key) || allowsRemarks && (key.hasPrefix("_") || value == .null) { return false }
            if allowsObjects, case .object = value { return false }
            return true
        }
        if let key = others.keys.min() {
            let names = known.joined(separator: ", ")
            throw fault(String(key.prefix(100)), .unknown, "is unknown; known keys are \(names)")
        }
    }

    /// The object without some of its members.
    package func omitting(_ keys: [String]) -> JSONFields {
        let others = members.filter { !keys.contains($0.key) }
        return JSONFields(members: others, place: place, name: name, allowsRemarks: allowsRemarks)
    }

    /// The names of all members, in alphabetical order: an error must be the same every time.
    package var keys: [String] { members.keys.sorted() }

    /// Whether there is a member of that name, of whatever kind.
    package func has(_ key: String) -> Bool {
        members[key].map { !allowsRemarks || $0 != .null } ?? false
    }

    /// A member of any kind, which must be there.
    package func value(_ key: String) throws(Fault) -> JSONValue {
        guard has(key), let value = members[key] else { throw fault(key, .missing, "is missing") }
        return value
    }

    /// A member that must be true or false.
    package func boolean(_ key: String) throws(Fault) -> Bool {
        guard case .boolean(let value) = try value(key) else { throw fault(key, "is not true or false") }
        return value
    }

    /// A member that must be true or false, or its default if it is not there.
    package func boolean(_ key: String, _ standard: Bool) throws(Fault) -> Bool {
        has(key) ? try boolean(key) : standard
    }

    /// A member that must be a number within a range.
    package func number(_ key: String, in range: ClosedRange<Double>) throws(Fault) -> Double {
        try number(value(key), key, in: range)
    }

    func number(_ value: JSONValue, _ key: String, in range: ClosedRange<Double>) throws(Fault) -> Double {
        let number = try number(value, key)
        guard range.contains(number) else {
            let isOpen = range.upperBound == .greatestFiniteMagnitude
            let expected = isOpen ? "at least \(range.lowerBound)" : "from \(range.lowerBound) to \(range.upperBound)"
            throw fault(key, is: number, not: expected)
        }
        return number
    }

    /// A member that must be a number within a range, or its default if it is not there.
    package func number(_ key: String, _ standard: Double, in range: ClosedRange<Double>) throws(Fault) -> Double {
        has(key) ? try number(key, in: range) : standard
    }

    func number(_ value: JSONValue, _ key: String) throws(Fault) -> Double {
        guard case .number(let number) = value else { throw fault(key, "is not a number") }
        return number
    }

    /// A member that must be an integer within a range.
    package func whole(_ key: String, in range: ClosedRange<Int>) throws(Fault) -> Int {
        let whole = try whole(value(key), key)
        guard range.contains(whole) else {
            throw fault(key, "is \(whole), not from \(range.lowerBound) to \(range.upperBound)")
        }
        return whole
    }

    /// A member that must be an integer within a range, or its default if it is not there.
    package func whole(_ key: String, _ standard: Int, in range: ClosedRange<Int>) throws(Fault) -> Int {
        has(key) ? try whole(key, in: range) : standard
    }

    func whole(_ value: JSONValue, _ key: String) throws(Fault) -> Int {
        let number = try number(value, key)
        guard let whole = Int(exactly: number) else {
            throw fault(key, is: number, not: number.rounded() == number ? "an integer of 64 bits" : "an integer")
        }
        return whole
    }

    /// A member that must be a text, whatever it contains.
    package func string(_ key: String) throws(Fault) -> String { try string(value(key), key) }

    func string(_ value: JSONValue, _ key: String) throws(Fault) -> String {
        guard let text = value.text else { throw fault(key, "is not a text") }
        return text
    }

    /// A member that must be a text of one line.
    /// - Parameter count: the most bytes in UTF-8.
    package func text(_ key: String, atMost count: Int) throws(Fault) -> String {
        try text(value(key), key, atMost: count)
    }

    private func text(_ value: JSONValue, _ key: String, atMost count: Int) throws(Fault) -> String {
        let text = try string(value, key)
        guard !text.isEmpty, text.utf8.count <= count, !text.unicodeScalars.contains(where: { $0.value < 32 }) else {
            throw fault(key, "is empty, longer than \(count) bytes, or has a control character")
        }
        return text
    }

    /// A member that must be one of the words of an enumeration.
    package func choice<Word: RawRepresentable<String> & CaseIterable>(_ key: String) throws(Fault) -> Word {
        try choice(value(key), key)
    }

    /// A member that must be one of the words of an enumeration, or its default if it is not there.
    /// - Parameter words: those that are allowed; nil for all.
    package func choice<Word: RawRepresentable<String> & CaseIterable>(
        _ key: String,
        _ standard: Word,
        among words: [Word]? = nil
    ) throws(Fault) -> Word {
        has(key) ? try choice(value(key), key, among: words) : standard
    }

    /// The word of an enumeration that a value, a member or part of one, must be.
    package func choice<Word: RawRepresentable<String> & CaseIterable>(
        _ value: JSONValue,
        _ key: String,
        among words: [Word]? = nil
    ) throws(Fault) -> Word {
        let text = try text(value, key, atMost: 100)
        let words = words ?? Array(Word.allCases)
        guard let word = words.first(where: { $0.rawValue == text }) else {
            throw fault(key, is: text, not: "one of \(words.map(\.rawValue).joined(separator: ", "))")
        }
        return word
    }

    /// Why a document cannot be used.
    package struct Fault: Error, Hashable, Sendable {
        /// What kind of fault it is.
        package enum Kind: Hashable, Sendable {
            /// The document is not JSON.
            case syntax
            /// A member is not there.
            case missing
            /// A member has a name that is not known.
            case unknown
            /// A member is of another type, or has a value that is not allowed.
            case invalid
        }

        /// What kind of fault it is.
        package let kind: Kind
        /// For example `regions[2].radiusMm ("lesion")`; empty for the document as a whole.
        package let field: String
        /// What is wrong with the field; completes its name.
        package let detail: String
    }
}
