import NocturneCore
import NocturneSystem

/// The fields of one region in a file of regions.
extension JSONFields {
    /// mm or voxels: larger than any grid, and far below the size at which squares lose precision.
    private static let places = -1e6...1e6
    /// mm.
    private static let extents = 1e-3...1e6

    private func point(_ tree: JSONValue, _ key: String) throws(Fault) -> SIMD3<Double> {
        let numbers = try numbers(tree, key, count: 3, in: Self.places)
        return SIMD3(numbers[0], numbers[1], numbers[2])
    }

    private func point(_ key: String) throws(Fault) -> SIMD3<Double> { try point(value(key), key) }

    private func points(_ key: String, _ range: ClosedRange<Int>) throws(Fault) -> [SIMD3<Double>] {
        let list = try list(key)
        guard range.contains(list.count) else {
            throw fault(key, "has \(list.count) points, not from \(range.lowerBound) to \(range.upperBound)")
        }
        var points: [SIMD3<Double>] = []
        for (index, tree) in list.enumerated() { points.append(try point(tree, "\(key)[\(index)]")) }
        return points
    }

    private func lengths(_ key: String) throws(Fault) -> SIMD2<Double> {
        let numbers = try numbers(value(key), key, count: 2, in: Self.extents)
        return SIMD2(numbers[0], numbers[1])
    }

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

    func entry(_ name: String, _ space: RegionOfInterest.Space) throws(Fault) -> RegionFile.Entry {
        let kind = try text("kind", atMost: 100)
        guard let own = Self.keys[kind] else {
            throw fault("kind", "is \"\(kind)\", not one of \(Self.keys.keys.sorted().joined(separator: ", "))")
        }
        let isMeasuredInside = kind != "length" && kind != "angle"
        try only(["name", "kind", "items"] + (isMeasuredInside ? ["histogram"] : []) + own)
        var region = RegionOfInterest(name: name, space: space, shape: try shape(kind, space))
        if has("histogram") { region.histogram = try object("histogram").histogram() }
        return RegionFile.Entry(region: region, items: has("items") ? try patterns() : nil)
    }

    private func patterns() throws(Fault) -> [String] {
        let list = try list("items")
        guard (1...100).contains(list.count) else { throw fault("items", "has \(list.count) patterns, not 1 to 100") }
        var patterns: [String] = []
        for tree in list {
            guard let pattern = tree.text, !pattern.isEmpty, pattern.utf8.count <= 1000 else {
                throw fault("items", "has an entry that is not a text of 1 to 1000 bytes")
            }
            patterns.append(pattern)
        }
        return patterns
    }

    private func histogram() throws(Fault) -> RegionOfInterest.HistogramRule {
        try only(["bins", "range"])
        var rule = RegionOfInterest.HistogramRule.standard
        rule.bins = try whole("bins", rule.bins, in: 1...RegionOfInterest.HistogramRule.maximumBinCount)
        if has("range") {
            let ends = try numbers(value("range"), "range", count: 2, in: Self.places)
            guard ends[0] < ends[1] else { throw fault("range", "is not ascending") }
            rule.range = ends[0]...ends[1]
        }
        return rule
    }

    private func shape(_ kind: String, _ space: RegionOfInterest.Space) throws(Fault)
        -> RegionOfInterest.Shape
    {
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
            return .circle(
                center: try point("center"),
                radius: try number("radiusMm", in: Self.extents),
                try plane(space)
            )
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
        case "sphere": return .sphere(center: try point("center"), radius: try number("radiusMm", in: Self.extents))
        default:
            let (lower, upper) = (try point("lower"), try point("upper"))
            guard (0..<3).allSatisfy({ lower[$0] < upper[$0] }) else {
                throw fault("upper", "is not above lower along every axis")
            }
            return .box(lower: lower, upper: upper)
        }
    }

    private func rotation() throws(Fault) -> Double {
        try number("rotationDegrees", 0, in: -360...360)
    }

    private func plane(_ space: RegionOfInterest.Space) throws(Fault) -> RegionOfInterest.Plane {
        let plane = try object("plane")
        if !plane.has("normal") {
            try plane.only(["axis", "index"])
            return .slice(
                across: try plane.choice("axis"),
                index: plane.has("index") ? try plane.whole("index", in: -1_000_000...1_000_000) : nil
            )
        }
        try plane.only(["normal", "point", "right", "spacingMm"])
        guard space != .voxel else {
            throw plane.fault("normal", "needs points in a patient space; in voxels a plane is an axis and an index")
        }
        let normal = try plane.direction("normal")
        let right = plane.has("right") ? try plane.direction("right") : nil
        // The sine of the angle between both; a direction along the normal has no projection into the plane.
        if let right, length(cross(normal, right)) < 1e-6 * length(normal) * length(right) {
            throw plane.fault("right", "has the direction of the normal")
        }
        return .oblique(
            normal: normal,
            point: plane.has("point") ? try plane.point("point") : nil,
            right: right,
            spacing: plane.has("spacingMm") ? try plane.number("spacingMm", in: 1e-3...1000) : nil
        )
    }

    private func direction(_ key: String) throws(Fault) -> SIMD3<Double> {
        let direction = try point(key)
        guard length(direction) >= 1e-6 else { throw fault(key, "has no direction") }
        return direction
    }
}
