internal import NocturneSystem

/// Settings that cannot be used.
public struct RadiomicsSettingsError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A reason that programs can distinguish.
    public enum Code: String, Sendable {
        case notJSON, unknownKey, unknownPreset, invalidValue
    }

    /// The reason.
    public let code: Code
    /// What is wrong, and where.
    public let description: String
}

extension RadiomicsSettings {
    /// Reads a settings file: a JSON object whose members replace those of the preset that it names, or else the defaults.
    ///
    /// Every key must be known: a misspelt one would otherwise change nothing.
    public init(parsing bytes: [UInt8]) throws(RadiomicsSettingsError) {
        let document: JSONValue
        do {
            document = try JSONValue(parsing: bytes)
        } catch {
            throw RadiomicsSettingsError(code: .notJSON, description: error.description)
        }
        var reader = try SettingsReader(document, "")
        var settings = RadiomicsSettings()
        // Before all other members, which replace single settings of the preset.
        if let name = try reader.text("preset") {
            guard let preset = Self.preset(name) else {
                let names = Self.presets.map(\.name).joined(separator: ", ")
                throw RadiomicsSettingsError(code: .unknownPreset, description: "no preset is called \(name): \(names)")
            }
            settings = preset
        }
        if let families: [Family] = try reader.choices("families") { settings.families = families }
        try reader.object("interpolation") { reader throws(RadiomicsSettingsError) in
            try settings.interpolation.read(&reader)
        }
        try reader.object("resegmentation") { reader throws(RadiomicsSettingsError) in
            try settings.resegmentation.read(&reader)
        }
        try reader.object("discretisation") { reader throws(RadiomicsSettingsError) in
            try settings.discretisation.read(&reader)
        }
        try reader.object("volumeHistogramDiscretisation") { reader throws(RadiomicsSettingsError) in
            try settings.volumeHistogramDiscretisation.read(&reader)
        }
        try reader.object("texture") { reader throws(RadiomicsSettingsError) in try settings.texture.read(&reader) }
        // Last: what is left in the reader has a name that nobody has asked for.
        try reader.finish()
        self = settings
    }
}

extension RadiomicsSettings.Interpolation {
    fileprivate mutating func read(_ reader: inout SettingsReader) throws(RadiomicsSettingsError) {
        if let spacing = try reader.spacing("spacingMm") { self.spacing = spacing }
        if let kernel: RadiomicsSettings.Kernel = try reader.choice("image") { image = kernel }
        if let kernel: RadiomicsSettings.MaskKernel = try reader.choice("mask") { mask = kernel }
        if let share = try reader.number("partialVolume", in: 0.01...1) { partialVolume = share }
        if let rounds = try reader.boolean("roundsIntensities") { roundsIntensities = rounds }
    }
}

extension RadiomicsSettings.Resegmentation {
    fileprivate mutating func read(_ reader: inout SettingsReader) throws(RadiomicsSettingsError) {
        let bounds = -1e9...1e9
        if let value = try reader.optional("lower", in: bounds) { lower = value }
        if let value = try reader.optional("upper", in: bounds) { upper = value }
        if let value = try reader.optional("outlierSigmas", in: 0.1...100) { outlierSigmas = value }
        if let lower, let upper, lower > upper {
            throw RadiomicsSettingsError(code: .invalidValue, description: "resegmentation: lower is above upper")
        }
    }
}

extension RadiomicsSettings.Discretisation {
    fileprivate mutating func read(_ reader: inout SettingsReader) throws(RadiomicsSettingsError) {
        if let value: Method = try reader.choice("method") { method = value }
        if let value = try reader.number("binWidth", in: 1e-6...1e9) { binWidth = value }
        if let value = try reader.integer("binCount", in: 2...65_536) { binCount = value }
        if let value: Origin = try reader.choice("origin") { origin = value }
    }
}

extension RadiomicsSettings.Texture {
    fileprivate mutating func read(_ reader: inout SettingsReader) throws(RadiomicsSettingsError) {
        let distances = 1...RadiomicsSettings.largestDistance
        if let values: [Aggregation] = try reader.choices("aggregations") { aggregations = values }
        if let value = try reader.integer("cooccurrenceDistance", in: distances) { cooccurrenceDistance = value }
        if let value: RadiomicsSettings.Weighting = try reader.choice("cooccurrenceWeighting") {
            cooccurrenceWeighting = value
        }
        if let value = try reader.integer("neighbourDistance", in: distances) { neighbourDistance = value }
        if let value = try reader.integer("coarseness", in: 0...1000) { coarseness = value }
    }
}

/// The members of an object that were not read yet.
private struct SettingsReader {
    private var members: [String: JSONValue]
    /// The names of the objects around it, each with a point.
    private let path: String

    init(_ value: JSONValue, _ path: String) throws(RadiomicsSettingsError) {
        guard case .object(let members) = value else {
            let name = path.isEmpty ? "the settings" : String(path.dropLast())
            throw RadiomicsSettingsError(code: .invalidValue, description: "\(name): not an object")
        }
        self.members = members
        self.path = path
    }

    private func invalid(_ key: String, _ expected: String) -> RadiomicsSettingsError {
        RadiomicsSettingsError(code: .invalidValue, description: "\(path)\(key): not \(expected)")
    }

    /// Throws when a member was not read.
    func finish() throws(RadiomicsSettingsError) {
        // The first by name, as a dictionary has another order in every process.
        guard let key = members.keys.min() else { return }
        throw RadiomicsSettingsError(code: .unknownKey, description: "\(path)\(key): no such setting")
    }

    /// Reads an object with its own reader, and refuses the members of it that were not read.
    mutating func object(
        _ key: String,
        _ read: (inout SettingsReader) throws(RadiomicsSettingsError) -> Void
    ) throws(RadiomicsSettingsError) {
        guard let member = members.removeValue(forKey: key) else { return }
        var reader = try SettingsReader(member, "\(path)\(key).")
        try read(&reader)
        try reader.finish()
    }

    /// Nil where the member is missing, here and in all functions below.
    mutating func text(_ key: String) throws(RadiomicsSettingsError) -> String? {
        guard let member = members.removeValue(forKey: key) else { return nil }
        guard let text = member.text else { throw invalid(key, "a text") }
        return text
    }

    mutating func boolean(_ key: String) throws(RadiomicsSettingsError) -> Bool? {
        guard let member = members.removeValue(forKey: key) else { return nil }
        guard case .boolean(let value) = member else { throw invalid(key, "true or false") }
        return value
    }

    mutating func number(_ key: String, in range: ClosedRange<Double>) throws(RadiomicsSettingsError) -> Double? {
        guard let member = members.removeValue(forKey: key) else { return nil }
        guard case .number(let value) = member, range.contains(value) else {
            throw invalid(key, "a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return value
    }

    /// The inner nil is the JSON value null, which removes a setting of the preset.
    mutating func optional(_ key: String, in range: ClosedRange<Double>) throws(RadiomicsSettingsError) -> Double?? {
        guard members[key] != .null else {
            members[key] = nil
            return .some(nil)
        }
        return try number(key, in: range).map { .some($0) }
    }

    mutating func integer(_ key: String, in range: ClosedRange<Int>) throws(RadiomicsSettingsError) -> Int? {
        guard let value = try number(key, in: Double(range.lowerBound)...Double(range.upperBound)) else { return nil }
        guard value == value.rounded() else { throw invalid(key, "an integer") }
        return Int(value)
    }

    /// Three distances in mm, 0 for an axis that is kept; the inner nil is the JSON value null.
    mutating func spacing(_ key: String) throws(RadiomicsSettingsError) -> SIMD3<Double>?? {
        guard let member = members.removeValue(forKey: key) else { return nil }
        guard member != .null else { return .some(nil) }
        guard case .array(let elements) = member, elements.count == 3 else { throw invalid(key, "three distances") }
        var spacing = SIMD3<Double>.zero
        for (axis, element) in elements.enumerated() {
            guard case .number(let value) = element, value == 0 || (0.05...100).contains(value) else {
                throw invalid(key, "three distances from 0.05 to 100 mm, or 0 for an axis that is kept")
            }
            spacing[axis] = value
        }
        return spacing
    }

    mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ key: String
    ) throws(RadiomicsSettingsError) -> Choice? {
        guard let member = members.removeValue(forKey: key) else { return nil }
        return try choice(member, key)
    }

    /// Several, each once, in the order of all choices.
    mutating func choices<Choice: RawRepresentable<String> & CaseIterable & Hashable>(
        _ key: String
    ) throws(RadiomicsSettingsError) -> [Choice]? {
        guard let member = members.removeValue(forKey: key) else { return nil }
        guard case .array(let elements) = member, !elements.isEmpty else { throw invalid(key, "a list of names") }
        var chosen: Set<Choice> = []
        for element in elements { chosen.insert(try choice(element, key)) }
        // The order of the list changes no feature, so it does not change the settings either.
        return Choice.allCases.filter(chosen.contains)
    }

    private func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ value: JSONValue,
        _ key: String
    ) throws(RadiomicsSettingsError) -> Choice {
        guard let name = value.text, let choice = Choice(rawValue: name) else {
            throw invalid(key, Choice.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return choice
    }
}
