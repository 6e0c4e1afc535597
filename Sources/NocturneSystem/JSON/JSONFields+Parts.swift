/// Members that are objects or lists.
extension JSONFields {
    /// A member that must be an object.
    package func object(_ key: String) throws(Fault) -> JSONFields { try object(value(key), key) }

    /// A member that is an object without members if it is not there.
    package func objectOrEmpty(_ key: String) throws(Fault) -> JSONFields {
        has(key)
            ? try object(key)
            : JSONFields(members: [:], place: path(key), name: name, allowsRemarks: allowsRemarks)
    }

    private func object(_ value: JSONValue, _ key: String) throws(Fault) -> JSONFields {
        guard case .object = value else { throw fault(key, "is not an object") }
        return try JSONFields(value, place: path(key), name: name, allowsRemarks: allowsRemarks)
    }

    /// The entries of a member that must be a list.
    /// - Parameter limit: of their number.
    package func list(_ key: String, atMost limit: Int = .max) throws(Fault) -> [JSONValue] {
        try list(value(key), key, atMost: limit)
    }

    private func list(_ value: JSONValue, _ key: String, atMost limit: Int) throws(Fault) -> [JSONValue] {
        guard case .array(let list) = value else { throw fault(key, "is not a list") }
        guard list.count <= limit else { throw fault(key, "has \(list.count) entries, more than \(limit)") }
        return list
    }

    /// The entries of a member that must be a list of objects.
    package func objects(_ key: String, atMost limit: Int = .max) throws(Fault) -> [JSONFields] {
        try entries(list(key, atMost: limit), key) { value, place throws(Fault) in try object(value, place) }
    }

    /// What a value must be, a member or part of one: an object, or a list of objects.
    package func objectOrObjects(
        _ value: JSONValue,
        _ key: String,
        atMost limit: Int = .max
    ) throws(Fault) -> [JSONFields] {
        guard case .array = value else { return [try object(value, key)] }
        return try entries(list(value, key, atMost: limit), key) { value, place throws(Fault) in
            try object(value, place)
        }
    }

    /// The entries of a member that must be a list of texts; see ``string(_:)``.
    package func strings(_ key: String, atMost limit: Int = .max) throws(Fault) -> [String] {
        try entries(list(key, atMost: limit), key) { value, place throws(Fault) in try string(value, place) }
    }

    /// What a value must be, a member or part of one: a text, or a list of texts.
    package func stringOrStrings(_ value: JSONValue, _ key: String) throws(Fault) -> [String] {
        guard case .array(let list) = value else { return [try string(value, key)] }
        return try entries(list, key) { value, place throws(Fault) in try string(value, place) }
    }

    /// The entries of a member that must be a list of integers.
    package func wholes(_ key: String, atMost limit: Int = .max) throws(Fault) -> [Int] {
        try entries(list(key, atMost: limit), key) { value, place throws(Fault) in try whole(value, place) }
    }

    /// The entries of a member that must be a list of numbers.
    package func numbers(_ key: String, atMost limit: Int = .max) throws(Fault) -> [Double] {
        try entries(list(key, atMost: limit), key) { value, place throws(Fault) in try number(value, place) }
    }

    private func entries<Entry>(
        _ list: [JSONValue],
        _ key: String,
        _ read: (JSONValue, String) throws(Fault) -> Entry
    ) throws(Fault) -> [Entry] {
        var entries: [Entry] = []
        for (index, value) in list.enumerated() { entries.append(try read(value, "\(key)[\(index)]")) }
        return entries
    }

    /// The numbers within a range that a value, a member or part of one, must have.
    package func numbers(
        _ value: JSONValue,
        _ key: String,
        count: Int,
        in range: ClosedRange<Double>
    ) throws(Fault) -> [Double] {
        guard case .array(let list) = value, list.count == count else { throw fault(key, "is not \(count) numbers") }
        return try entries(list, key) { value, place throws(Fault) in try number(value, place, in: range) }
    }
}
