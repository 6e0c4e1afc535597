import NocturneCore
import NocturneFormats

/// A segment or region with the attributes its object gives.
struct ExistingLabel: Sendable {
    /// The value in the label volume: the number of a segment, or the 1-based index of a region.
    let value: UInt16
    /// SegmentNumber or ROINumber.
    let number: Int
    /// Unique in the object.
    private(set) var name: String
    let description: String
    let color: LabelColor?
    let code: CodedConcept?
    /// For a segment AUTOMATIC, SEMIAUTOMATIC or MANUAL; for a region its RT ROI interpreted type. Empty if not given.
    let kind: String
    /// The index of its label volume.
    var volume: Int
    /// The base name of its files: portable characters only, unique in the object.
    private(set) var fileName = ""
    /// The name in the object, which other labels may have, too.
    private(set) var givenName = ""

    /// Whether the name has the number behind it, since other labels have the same one.
    var isNumbered: Bool { name != givenName }

    /// Whether a name that the user has given stands for it.
    func isCalled(_ name: String) -> Bool { name == self.name || name == givenName }

    static func labels(of object: DICOMSegmentation) -> [ExistingLabel] {
        named(
            object.segments.filter { $0.number > 0 }.map {
                ExistingLabel(
                    value: $0.number,
                    number: Int($0.number),
                    name: $0.label.isEmpty ? "segment \($0.number)" : $0.label,
                    description: $0.description,
                    color: $0.color,
                    code: $0.type,
                    kind: $0.algorithmType,
                    volume: $0.volume
                )
            }
        )
    }

    static func labels(of object: DICOMStructureSet) -> [ExistingLabel] {
        named(
            object.regions.enumerated().map { index, region in
                ExistingLabel(
                    value: UInt16(index + 1),
                    number: region.number,
                    name: region.name.isEmpty ? "region \(region.number)" : region.name,
                    description: region.description,
                    color: region.color,
                    code: region.code,
                    kind: region.interpretedType,
                    volume: 0
                )
            }
        )
    }

    /// In the order of values.
    static func labels(of map: NamedLabelMap) -> [ExistingLabel] {
        named(
            map.names.sorted { $0.key < $1.key }.map { value, name in
                ExistingLabel(
                    value: value,
                    number: Int(value),
                    name: name,
                    description: "",
                    color: map.colors[value],
                    code: nil,
                    kind: "",
                    volume: 0
                )
            }
        )
    }

    /// The colour used in pictures: the label's own, or one of eight contrasting colours.
    var displayColor: LabelColor { color ?? Self.palette[(Int(value) - 1) % Self.palette.count] }

    /// Contrasting colours for labels without their own colour.
    static let palette: [LabelColor] = [
        (230, 97, 1), (94, 60, 153), (27, 158, 119), (231, 41, 138), (102, 166, 30), (230, 171, 2), (55, 126, 184),
        (166, 86, 40),
    ].map { LabelColor(red: $0.0, green: $0.1, blue: $0.2) }

    /// Makes names unique, in tables and as names of files.
    private static func named(_ labels: [ExistingLabel]) -> [ExistingLabel] {
        let counts = Dictionary(labels.map { ($0.name, 1) }, uniquingKeysWith: +)
        var names = Set(counts.filter { $0.value == 1 }.keys)
        // Some file systems do not distinguish upper and lower case.
        var taken: Set<String> = []
        return labels.map { label in
            var label = label
            label.givenName = label.name
            if counts[label.name] != 1 {
                label.name += " (\(label.number))"
                // Another label may have this very name.
                while !names.insert(label.name).inserted { label.name += "*" }
            }
            let stem = safe(label.givenName) ?? "label-\(label.value)"
            var name = stem
            var number = 2
            while !taken.insert(name.lowercased()).inserted {
                name = "\(stem)-\(number)"
                number += 1
            }
            label.fileName = name
            return label
        }
    }

    /// Nil for a name without a letter or digit of ASCII, of which nothing would be left.
    private static func safe(_ name: String) -> String? {
        guard name.contains(where: { $0.isASCII && ($0.isLetter || $0.isNumber) }) else { return nil }
        var safe = String(
            name.map { $0.isASCII && ($0.isLetter || $0.isNumber || "._-@+=".contains($0)) ? $0 : "_" }.prefix(120)
        )
        while safe.hasPrefix(".") || safe.hasPrefix("-") { safe.removeFirst() }
        return safe
    }
}
