package import NocturneCore
import NocturneSystem

/// Converts the content of `model.json` to checked values, and throws at the first error.
package struct ModelValidation {
    /// The path of `model.json`, for errors.
    package let file: String

    /// The error for a key.
    /// - Parameter found: shown as text, shortened to 80 characters.
    package func refuse(
        _ key: String,
        _ code: ModelPackageError.Code = .invalidValue,
        expected: String,
        found: some Any
    ) -> ModelPackageError {
        // The text found in the file may have any content and length.
        let text = "\(found)".isEmpty ? "an empty text" : "\(found)"
        let shown = text.count > 80 ? text.prefix(80) + "…" : text[...]
        return ModelPackageError(code: code, file: file, key: key, expected: expected, found: String(shown))
    }

    /// One of several words.
    /// - Parameters:
    ///   - text: as written; nil for the default.
    ///   - words: at least two, as they are listed in the error for another one.
    package func choice<Value: RawRepresentable<String>>(
        _ text: String?,
        _ standard: Value,
        _ words: [String],
        key: String
    ) throws(ModelPackageError) -> Value {
        guard let text else { return standard }
        guard let value = Value(rawValue: text) else {
            let expected = words.dropLast().joined(separator: ", ") + " or \(words[words.count - 1])"
            throw refuse(key, expected: expected, found: text)
        }
        return value
    }

    /// The maximum length of all lists except those of labels and classes: many are searched once for every entry.
    private static let maximumListCount = 1000

    /// - Throws: ``ModelPackageError`` for more than 1000 entries.
    package func checkLength(_ count: Int, key: String) throws(ModelPackageError) {
        guard count <= Self.maximumListCount else {
            throw refuse(key, expected: "at most \(Self.maximumListCount) entries", found: count)
        }
    }

    func checkTexts(_ document: ModelDocument) throws(ModelPackageError) {
        try checkName(document.id, key: "id")
        for (key, text) in [("name", document.name), ("version", document.version), ("licence", document.licence)]
        where text.isEmpty {
            throw refuse(key, expected: "a text", found: "an empty one")
        }
    }

    /// The files of a package: at least one, each once, all inside the folder.
    func files(_ document: ModelDocument) throws(ModelPackageError) -> [ModelFile] {
        if document.files.isEmpty { throw refuse("files", expected: "at least one file", found: "none") }
        try checkLength(document.files.count, key: "files")
        var files: [ModelFile] = []
        var seen: Set<String> = []
        for (index, file) in document.files.enumerated() {
            let key = "files[\(index)]"
            guard Self.staysInside(file.path) else {
                throw refuse("\(key).path", expected: "a relative path inside the package folder", found: file.path)
            }
            guard seen.insert(file.path).inserted else {
                throw refuse("\(key).path", expected: "every file once", found: "\(file.path) twice")
            }
            guard let sha256 = ContentDigest(hex: file.sha256) else {
                throw refuse("\(key).sha256", expected: "64 hexadecimal digits", found: file.sha256)
            }
            let bytes = file.bytes.value
            guard bytes > 0, bytes < 1 << 46 else {
                throw refuse("\(key).bytes", expected: "a size from 1 to 2^46", found: bytes)
            }
            files.append(ModelFile(path: file.path, sha256: sha256, bytes: bytes))
        }
        return files
    }

    func channels(_ document: ModelDocument) throws(ModelPackageError) -> [ModelChannel] {
        let raw = document.channels ?? []
        try checkLength(raw.count, key: "channels")
        var channels: [ModelChannel] = []
        for (index, channel) in raw.enumerated() {
            let key = "channels[\(index)]"
            if channel.name.isEmpty { throw refuse("\(key).name", expected: "a text", found: "an empty one") }
            if channels.contains(where: { $0.name == channel.name }) {
                throw refuse("\(key).name", expected: "every channel once", found: "\(channel.name) twice")
            }
            let normalizations = try normalizations(channel.normalization, key: "\(key).normalization")
            channels.append(ModelChannel(name: channel.name, normalizations: normalizations))
        }
        return channels
    }

    /// The normalisations of one channel, in a row.
    package func normalizations(
        _ raw: ModelDocument.Normalizations,
        key: String
    ) throws(ModelPackageError) -> [Normalization] {
        try checkLength(raw.steps.count, key: key)
        if raw.steps.isEmpty { throw refuse(key, expected: "at least one normalisation", found: "none") }
        var steps: [Normalization] = []
        for (index, step) in raw.steps.enumerated() {
            let key = raw.isList ? "\(key)[\(index)]" : key
            // The mask belongs to the volume as it is read.
            if step.useMask == true, raw.steps.count > 1 {
                throw refuse("\(key).useMask", expected: "a mask for a single normalisation only", found: "several")
            }
            steps.append(try normalization(step, key: key))
        }
        return steps
    }

    private func normalization(
        _ raw: ModelDocument.Normalization,
        key: String
    ) throws(ModelPackageError) -> Normalization {
        if raw.useMask == true, raw.scheme != "zScore" {
            throw refuse("\(key).useMask", expected: "a mask with zScore only", found: raw.scheme)
        }
        if raw.nonzero == true, raw.scheme != "zScore" || raw.useMask == true {
            throw refuse("\(key).nonzero", expected: "nonzero with zScore only, and without useMask", found: raw.scheme)
        }
        for (name, isGiven) in [("clip", raw.clip), ("countPadding", raw.countPadding)]
        where isGiven == true && raw.scheme != "quantiles" {
            throw refuse("\(key).\(name)", expected: "\(name) with quantiles only", found: raw.scheme)
        }
        switch raw.scheme {
        case "zScore": return raw.nonzero == true ? .zScoreOfNonzero : .zScore(usesMask: raw.useMask ?? false)
        case "rgb01": return .rgb01
        case "rescale01": return .rescale01
        case "none": return .none
        case "quantiles": return try quantiles(raw, key: key)
        case "rescale":
            let (lower, upper) = try bounds(raw, key: key)
            return .rescale(lower: lower, upper: upper)
        case "linear":
            let (mean, deviation) = try moments(raw, key: key)
            return .linear(mean: mean, deviation: deviation)
        case "ct":
            let (lower, upper) = try bounds(raw, key: key)
            let (mean, deviation) = try moments(raw, key: key)
            return .ct(lower: lower, upper: upper, mean: mean, deviation: deviation)
        default:
            throw refuse(
                "\(key).scheme",
                expected: "one of ct, linear, zScore, rescale, rescale01, rgb01, quantiles, none",
                found: raw.scheme
            )
        }
    }

    private func bounds(
        _ raw: ModelDocument.Normalization,
        key: String
    ) throws(ModelPackageError) -> (lower: Float, upper: Float) {
        let lower = try number(raw.lowerBound, key: "\(key).lowerBound")
        let upper = try number(raw.upperBound, key: "\(key).upperBound")
        guard lower < upper else {
            throw refuse("\(key).upperBound", expected: "more than lowerBound \(lower)", found: upper)
        }
        return (lower, upper)
    }

    private func moments(
        _ raw: ModelDocument.Normalization,
        key: String
    ) throws(ModelPackageError) -> (mean: Float, deviation: Float) {
        let mean = try number(raw.mean, key: "\(key).mean")
        let deviation = try number(raw.standardDeviation, key: "\(key).standardDeviation")
        guard deviation > 0 else {
            throw refuse("\(key).standardDeviation", expected: "a number above 0", found: deviation)
        }
        return (mean, deviation)
    }

    private func quantiles(
        _ raw: ModelDocument.Normalization,
        key: String
    ) throws(ModelPackageError) -> Normalization {
        let lower = try number(raw.lower, key: "\(key).lower")
        let upper = try number(raw.upper, key: "\(key).upper")
        guard lower >= 0, upper <= 1, lower < upper else {
            throw refuse("\(key).upper", expected: "0 <= lower < upper <= 1", found: "\(lower), \(upper)")
        }
        return .quantiles(
            lower: raw.lower ?? 0,
            upper: raw.upper ?? 1,
            countsPadding: raw.countPadding ?? false,
            clips: raw.clip ?? false
        )
    }

    private func number(_ value: Double?, key: String) throws(ModelPackageError) -> Float {
        guard let value else { throw refuse(key, .missingKey, expected: "a number", found: "nothing") }
        guard Float(value).isFinite else {
            throw refuse(key, expected: "a number within single precision", found: value)
        }
        return Float(value)
    }

    /// The labels, in the order of the document: values from 1 to 65535, values and names unique.
    func labels(_ document: ModelDocument) throws(ModelPackageError) -> [ModelLabel] {
        let raw = document.labels ?? []
        var labels: [ModelLabel] = []
        var values: Set<UInt16> = []
        var names: Set<String> = []
        for (index, label) in raw.enumerated() {
            let key = "labels[\(index)]"
            guard let value = UInt16(exactly: label.value.value), value > 0 else {
                throw refuse("\(key).value", expected: "1...65535", found: label.value.value)
            }
            guard values.insert(value).inserted else {
                throw refuse("\(key).value", expected: "every value once", found: "\(value) twice")
            }
            try checkName(label.name, key: "\(key).name")
            // Meshes are named after labels, and folders may be copied to disks that ignore case.
            guard names.insert(label.name.lowercased()).inserted else {
                throw refuse("\(key).name", expected: "every name once", found: "\(label.name) twice")
            }
            guard let color = LabelColor(label.color) else {
                throw refuse("\(key).color", expected: "#rrggbb", found: label.color)
            }
            let title = try checkedTitle(label.title, key: "\(key).title")
            labels.append(
                ModelLabel(
                    value: value,
                    name: label.name,
                    title: title,
                    color: color,
                    code: label.code,
                    isExpected: label.expected ?? false
                )
            )
        }
        return labels
    }

    private func checkedTitle(_ title: String?, key: String) throws(ModelPackageError) -> String? {
        guard let title else { return nil }
        // Without the control characters C0, DEL and C1: titles are shown in terminals.
        let isOneLine = title.unicodeScalars.allSatisfy { $0.value >= 32 && !(127..<160).contains($0.value) }
        guard isOneLine, (1...1000).contains(title.utf8.count) else {
            throw refuse(key, expected: "one line of 1 to 1000 bytes", found: title)
        }
        return title
    }

    private func checkName(_ name: String, key: String) throws(ModelPackageError) {
        guard Self.isSafeName(name) else {
            throw refuse(
                key,
                expected: "1 to 100 of the characters A-Z a-z 0-9 _ . - and no dot in front",
                found: "\"\(name)\""
            )
        }
    }

    /// Whether a name is a valid file name on every system.
    package static func isSafeName(_ name: String) -> Bool {
        let bytes = name.utf8
        guard (1...100).contains(bytes.count), bytes.first != UInt8(ascii: ".") else { return false }
        return bytes.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "-"):
                true
            default: false
            }
        }
    }

    /// Whether a path is relative and has no component that leads to a parent folder.
    static func staysInside(_ path: String) -> Bool {
        path.utf8.count <= 1024 && !path.utf8.contains(UInt8(ascii: "\\")) && FileSystem.staysBelow(path)
    }
}
