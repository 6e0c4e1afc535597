internal import NocturneSystem

/// Settings that cannot be used.
public struct RadiomicsSettingsError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong, and where.
    public let description: String
}

extension RadiomicsSettings {
    /// Reads a settings file: a JSON object whose members replace those of the preset that it names, or else the defaults.
    ///
    /// Every key must be known: a misspelt one would otherwise change nothing.
    public init(parsing bytes: [UInt8]) throws(RadiomicsSettingsError) {
        do throws(JSONFields.Fault) {
            try self.init(JSONFields(parsing: bytes))
        } catch {
            let field = error.field.isEmpty ? "the file" : error.field
            throw RadiomicsSettingsError(description: "\(field) \(error.detail)")
        }
    }

    private init(_ fields: JSONFields) throws(JSONFields.Fault) {
        let sections = [
            "interpolation", "resegmentation", "discretisation", "volumeHistogramDiscretisation", "texture",
        ]
        try fields.only(["preset", "families"] + sections)
        self.init()
        // Before all other members, which replace single settings of the preset.
        if fields.has("preset") {
            let name = try fields.text("preset", atMost: 100)
            guard let preset = Self.preset(name) else {
                let names = Self.presets.map(\.name).joined(separator: ", ")
                throw fields.fault("preset", "is \"\(name)\", not one of \(names)")
            }
            self = preset
        }
        if fields.has("families") { families = try fields.choices("families") }
        if fields.has("interpolation") { try interpolation.read(fields.object("interpolation")) }
        if fields.has("resegmentation") { try resegmentation.read(fields.object("resegmentation")) }
        if fields.has("discretisation") { try discretisation.read(fields.object("discretisation")) }
        if fields.has("volumeHistogramDiscretisation") {
            try volumeHistogramDiscretisation.read(fields.object("volumeHistogramDiscretisation"))
        }
        if fields.has("texture") { try texture.read(fields.object("texture")) }
    }
}

extension RadiomicsSettings.Interpolation {
    fileprivate mutating func read(_ fields: JSONFields) throws(JSONFields.Fault) {
        try fields.only(["spacingMm", "image", "mask", "partialVolume", "roundsIntensities"])
        if fields.has("spacingMm") { spacing = try fields.spacing("spacingMm") }
        image = try fields.choice("image", image)
        mask = try fields.choice("mask", mask)
        partialVolume = try fields.number("partialVolume", partialVolume, in: 0.01...1)
        roundsIntensities = try fields.boolean("roundsIntensities", roundsIntensities)
    }
}

extension RadiomicsSettings.Resegmentation {
    fileprivate mutating func read(_ fields: JSONFields) throws(JSONFields.Fault) {
        try fields.only(["lower", "upper", "outlierSigmas"])
        let bounds = -1e9...1e9
        if fields.has("lower") { lower = try fields.optional("lower", in: bounds) }
        if fields.has("upper") { upper = try fields.optional("upper", in: bounds) }
        if fields.has("outlierSigmas") { outlierSigmas = try fields.optional("outlierSigmas", in: 0.1...100) }
        if let lower, let upper, lower > upper { throw fields.fault("lower", "is above upper") }
    }
}

extension RadiomicsSettings.Discretisation {
    fileprivate mutating func read(_ fields: JSONFields) throws(JSONFields.Fault) {
        try fields.only(["method", "binWidth", "binCount", "origin"])
        method = try fields.choice("method", method)
        binWidth = try fields.number("binWidth", binWidth, in: 1e-6...1e9)
        binCount = try fields.whole("binCount", binCount, in: 2...65_536)
        origin = try fields.choice("origin", origin)
    }
}

extension RadiomicsSettings.Texture {
    fileprivate mutating func read(_ fields: JSONFields) throws(JSONFields.Fault) {
        let pairs = (distance: "cooccurrenceDistance", weighting: "cooccurrenceWeighting")
        try fields.only(["aggregations", pairs.distance, pairs.weighting, "neighbourDistance", "coarseness"])
        let distances = 1...RadiomicsSettings.largestDistance
        if fields.has("aggregations") { aggregations = try fields.choices("aggregations") }
        cooccurrenceDistance = try fields.whole(pairs.distance, cooccurrenceDistance, in: distances)
        cooccurrenceWeighting = try fields.choice(pairs.weighting, cooccurrenceWeighting)
        neighbourDistance = try fields.whole("neighbourDistance", neighbourDistance, in: distances)
        coarseness = try fields.whole("coarseness", coarseness, in: 0...1000)
    }
}

extension JSONFields {
    /// A number, or null, which removes a setting of the preset.
    fileprivate func optional(_ key: String, in range: ClosedRange<Double>) throws(Fault) -> Double? {
        try value(key) == .null ? nil : try number(key, in: range)
    }

    /// Three distances in mm, 0 for an axis that is kept, or null.
    fileprivate func spacing(_ key: String) throws(Fault) -> SIMD3<Double>? {
        guard try value(key) != .null else { return nil }
        let distances = try numbers(value(key), key, count: 3, in: 0...100)
        guard distances.allSatisfy({ $0 == 0 || $0 >= 0.05 }) else {
            throw fault(key, "has an entry that is not from 0.05 to 100 mm, or 0 for an axis that is kept")
        }
        return SIMD3(distances)
    }

    /// Words of an enumeration, each once, in its order: the order of the list changes no feature.
    fileprivate func choices<Word: RawRepresentable<String> & CaseIterable & Hashable>(
        _ key: String
    ) throws(Fault) -> [Word] {
        var chosen: Set<Word> = []
        for (index, entry) in try list(key).enumerated() { chosen.insert(try choice(entry, "\(key)[\(index)]")) }
        guard !chosen.isEmpty else { throw fault(key, "is an empty list") }
        return Word.allCases.filter(chosen.contains)
    }
}
