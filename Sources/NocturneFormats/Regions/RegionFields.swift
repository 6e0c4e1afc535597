import NocturneCore

/// The fields of one object in a file of regions, with its location for messages.
///
/// People write these files by hand. A decoder of Foundation would state a coding path and a Swift type, and would ignore a misspelt
/// key; here a message names the region, the field and what is allowed.
struct RegionFields {
    private let fields: [String: JSONTree]
    private let path: String
    private let place: String
    private let region: String?
    /// mm or voxels: larger than any grid, and far below the size at which squares lose precision.
    private static let largest = 1e6
    private static let smallest = 1e-3

    init(_ tree: JSONTree, path: String, place: String, region: String?) throws(RegionFileError) {
        guard case .object(let fields) = tree else {
            throw RegionFileError(path: path, field: place, region: region, "is not an object")
        }
        self.fields = fields
        self.path = path
        self.place = place
        self.region = region
    }

    /// An error about a member of this object.
    func fault(_ key: String, _ detail: String) -> RegionFileError {
        RegionFileError(path: path, field: place.isEmpty ? key : "\(place).\(key)", region: region, detail)
    }

    /// Refuses other members: a misspelt one would be ignored, and its default used without a word.
    func only(_ known: [String]) throws(RegionFileError) {
        if let key = fields.keys.filter({ !known.contains($0) }).min() {
            throw fault(String(key.prefix(100)), "is unknown; known keys are \(known.joined(separator: ", "))")
        }
    }

    private func needed(_ key: String) throws(RegionFileError) -> JSONTree {
        guard let tree = fields[key] else { throw fault(key, "is missing") }
        return tree
    }

    /// The entries of a member that must be a list.
    func list(_ key: String) throws(RegionFileError) -> [JSONTree] {
        guard case .list(let list) = try needed(key) else { throw fault(key, "is not a list") }
        return list
    }

    /// A member that must be a number, by default one that is a place in any grid.
    func number(_ key: String, _ range: ClosedRange<Double> = -largest...largest) throws(RegionFileError) -> Double {
        guard case .number(let number) = try needed(key) else { throw fault(key, "is not a number") }
        guard range.contains(number) else {
            throw fault(key, "is \(number), not from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// A member that must be an integer.
    func whole(_ key: String) throws(RegionFileError) -> Int {
        let number = try number(key)
        guard number == number.rounded() else { throw fault(key, "is \(number), not an integer") }
        return Int(number)
    }

    /// A member that must be a text of one line.
    /// - Parameter count: the most bytes in UTF-8.
    func text(_ key: String, atMost count: Int) throws(RegionFileError) -> String {
        guard case .text(let text) = try needed(key) else { throw fault(key, "is not a text") }
        guard !text.isEmpty, text.utf8.count <= count, !text.unicodeScalars.contains(where: { $0.value < 32 }) else {
            throw fault(key, "is empty, longer than \(count) bytes, or has a control character")
        }
        return text
    }

    /// A member that must be one of the words of an enumeration.
    func choice<Word: RawRepresentable & CaseIterable>(
        _ key: String,
        _ words: Word.Type
    ) throws(RegionFileError) -> Word where Word.RawValue == String {
        let text = try text(key, atMost: 100)
        guard let word = Word(rawValue: text) else {
            throw fault(key, "is \"\(text)\", not one of \(Word.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return word
    }

    private func numbers(_ tree: JSONTree, _ key: String, _ count: Int) throws(RegionFileError) -> [Double] {
        guard case .list(let list) = tree, list.count == count else { throw fault(key, "is not \(count) numbers") }
        var numbers: [Double] = []
        for tree in list {
            guard case .number(let number) = tree, abs(number) <= Self.largest else {
                throw fault(key, "has an entry that is not a number from -1000000 to 1000000")
            }
            numbers.append(number)
        }
        return numbers
    }

    private func point(_ tree: JSONTree, _ key: String) throws(RegionFileError) -> SIMD3<Double> {
        let numbers = try numbers(tree, key, 3)
        return SIMD3(numbers[0], numbers[1], numbers[2])
    }

    private func point(_ key: String) throws(RegionFileError) -> SIMD3<Double> { try point(needed(key), key) }

    private func points(_ key: String, _ range: ClosedRange<Int>) throws(RegionFileError) -> [SIMD3<Double>] {
        let list = try list(key)
        guard range.contains(list.count) else {
            throw fault(key, "has \(list.count) points, not from \(range.lowerBound) to \(range.upperBound)")
        }
        var points: [SIMD3<Double>] = []
        for (index, tree) in list.enumerated() { points.append(try point(tree, "\(key)[\(index)]")) }
        return points
    }

    private func lengths(_ key: String) throws(RegionFileError) -> SIMD2<Double> {
        let numbers = try numbers(needed(key), key, 2)
        guard numbers.allSatisfy({ $0 >= Self.smallest }) else { throw fault(key, "is below 0.001 mm") }
        return SIMD2(numbers[0], numbers[1])
    }

    private func inner(_ key: String) throws(RegionFileError) -> RegionFields {
        try RegionFields(needed(key), path: path, place: place.isEmpty ? key : "\(place).\(key)", region: region)
    }

    // MARK: A region

    private static let keys = [
        "length": ["points"],
        "angle": ["points"],
        "circle": ["center", "radiusMm", "plane"],
        "ellipse": ["center", "radiiMm", "rotationDegrees", "plane"],
        "rectangle": ["center", "sizeMm", "rotationDegrees", "plane"],
        "polygon": ["points", "plane"],
        "sphere": ["center", "radiusMm"],
        "box": ["lower", "upper"],
    ]

    func entry(_ space: RegionOfInterest.Space) throws(RegionFileError) -> RegionFile.Entry {
        let name = try text("name", atMost: 200)
        let named = try RegionFields(.object(fields), path: path, place: place, region: name)
        let kind = try named.text("kind", atMost: 100)
        guard let own = Self.keys[kind] else {
            throw named.fault("kind", "is \"\(kind)\", not one of \(Self.keys.keys.sorted().joined(separator: ", "))")
        }
        let isMeasuredInside = kind != "length" && kind != "angle"
        try named.only(["name", "kind", "items"] + (isMeasuredInside ? ["histogram"] : []) + own)
        var region = RegionOfInterest(name: name, space: space, shape: try named.shape(kind, space))
        if named.fields["histogram"] != nil { region.histogram = try named.inner("histogram").histogram() }
        return RegionFile.Entry(region: region, items: named.fields["items"] == nil ? nil : try named.patterns())
    }

    private func patterns() throws(RegionFileError) -> [String] {
        let list = try list("items")
        guard (1...100).contains(list.count) else { throw fault("items", "has \(list.count) patterns, not 1 to 100") }
        var patterns: [String] = []
        for tree in list {
            guard case .text(let pattern) = tree, !pattern.isEmpty, pattern.utf8.count <= 1000 else {
                throw fault("items", "has an entry that is not a text of 1 to 1000 bytes")
            }
            patterns.append(pattern)
        }
        return patterns
    }

    private func histogram() throws(RegionFileError) -> RegionOfInterest.HistogramRule {
        try only(["bins", "range"])
        var rule = RegionOfInterest.HistogramRule.standard
        if fields["bins"] != nil {
            let bins = try whole("bins")
            let most = RegionOfInterest.HistogramRule.maximumBinCount
            guard (1...most).contains(bins) else { throw fault("bins", "is \(bins), not from 1 to \(most)") }
            rule.bins = bins
        }
        if fields["range"] != nil {
            let ends = try numbers(needed("range"), "range", 2)
            guard ends[0] < ends[1] else { throw fault("range", "is not ascending") }
            rule.range = ends[0]...ends[1]
        }
        return rule
    }

    private func shape(_ kind: String, _ space: RegionOfInterest.Space) throws(RegionFileError)
        -> RegionOfInterest.Shape
    {
        let radius = Self.smallest...Self.largest
        switch kind {
        case "length": return .length(try points("points", 2...RegionFile.maximumPointCount))
        case "angle":
            let points = try points("points", 3...3)
            guard points[0] != points[1], points[2] != points[1] else {
                throw fault("points", "has an arm of zero length")
            }
            // The middle point is the vertex, as people mark it.
            return .angle(points[0], vertex: points[1], points[2])
        case "circle":
            return .circle(center: try point("center"), radius: try number("radiusMm", radius), try plane(space))
        case "ellipse":
            let rotation = try rotation()
            return .ellipse(
                center: try point("center"),
                radii: try lengths("radiiMm"),
                rotation: rotation,
                try plane(space)
            )
        case "rectangle":
            let rotation = try rotation()
            return .rectangle(
                center: try point("center"),
                size: try lengths("sizeMm"),
                rotation: rotation,
                try plane(space)
            )
        case "polygon": return .polygon(try points("points", 3...RegionFile.maximumPointCount), try plane(space))
        case "sphere": return .sphere(center: try point("center"), radius: try number("radiusMm", radius))
        default:
            let (lower, upper) = (try point("lower"), try point("upper"))
            guard (0..<3).allSatisfy({ lower[$0] < upper[$0] }) else {
                throw fault("upper", "is not above lower along every axis")
            }
            return .box(lower: lower, upper: upper)
        }
    }

    private func rotation() throws(RegionFileError) -> Double {
        fields["rotationDegrees"] == nil ? 0 : try number("rotationDegrees", -360...360)
    }

    private func plane(_ space: RegionOfInterest.Space) throws(RegionFileError) -> RegionOfInterest.Plane {
        let plane = try inner("plane")
        if plane.fields["normal"] == nil {
            try plane.only(["axis", "index"])
            return .slice(
                across: try plane.choice("axis", RegionOfInterest.Axis.self),
                index: plane.fields["index"] == nil ? nil : try plane.whole("index")
            )
        }
        try plane.only(["normal", "point", "right", "spacingMm"])
        guard space != .voxel else {
            throw plane.fault("normal", "needs points in a patient space; in voxels a plane is an axis and an index")
        }
        let normal = try plane.direction("normal")
        let right = plane.fields["right"] == nil ? nil : try plane.direction("right")
        // The sine of the angle between both; a direction along the normal has no projection into the plane.
        if let right, length(cross(normal, right)) < 1e-6 * length(normal) * length(right) {
            throw plane.fault("right", "has the direction of the normal")
        }
        return .oblique(
            normal: normal,
            point: plane.fields["point"] == nil ? nil : try plane.point("point"),
            right: right,
            spacing: plane.fields["spacingMm"] == nil ? nil : try plane.number("spacingMm", Self.smallest...1000)
        )
    }

    private func direction(_ key: String) throws(RegionFileError) -> SIMD3<Double> {
        let direction = try point(key)
        guard length(direction) >= 1e-6 else { throw fault(key, "has no direction") }
        return direction
    }
}
