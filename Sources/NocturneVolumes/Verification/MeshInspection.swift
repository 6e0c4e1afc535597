import NocturneCore
import NocturneFormats
import NocturneRecipeSupport
import NocturneSystem

extension ItemInspection {
    /// Reads a surface and checks it against `result.json`: triangles, frame, colour, area, volume, closedness, and its
    /// position relative to the label.
    /// - Parameters:
    ///   - color: the label's, as "#rrggbb"; nil if it does not have one.
    ///   - box: the bounds of the label's voxels; nil if only the volume's are known.
    ///   - geometry: of the voxels; nil for a surface of contours, which may reach beyond the images.
    mutating func inspect(
        _ mesh: SegmentationResult.Mesh,
        of name: String,
        color: String?,
        within box: SegmentationResult.Box?,
        _ geometry: VolumeGeometry?,
        margin: Double
    ) throws {
        try inspect(mesh.file) { inspection, path in
            guard let format = MeshFormats.format(of: mesh.file), format.isScene == (mesh.node != nil) else {
                inspection.add(mesh.file, "is not a mesh file of a known format")
                return
            }
            let contents = try format.read(mesh.node ?? name, at: path, flag: inspection.flag)
            try inspection.flag.check()
            let (frame, surface) = (contents.frame, contents.mesh)
            if let color, let found = contents.color.map({ LabelColor($0) }), found.description != color {
                inspection.add(
                    mesh.file,
                    "has the colour \(found) for \(mesh.node ?? name), result.json states \(color)"
                )
            }
            if frame?.rawValue.uppercased() != mesh.frame {
                inspection.add(
                    mesh.file,
                    "is in \(frame?.rawValue.uppercased() ?? "no known frame"), result.json states \(mesh.frame)"
                )
            }
            if surface.triangles.count != mesh.triangles {
                inspection.add(
                    mesh.file,
                    "has \(surface.triangles.count) triangles, result.json states \(mesh.triangles)"
                )
            }
            let sums = SurfaceSums(of: surface)
            if !sums.isClosed {
                inspection.add(mesh.file, "is not closed")
            } else if let shared = try surface.edgesOfSeveralFaces(inspection.flag) {
                inspection.add(mesh.file, "has walls inside: \(shared) edges have more than two triangles")
            }
            // The file stores the vertices as float32.
            if abs(sums.area - mesh.areaMm2) > 1e-4 * max(mesh.areaMm2, 1) {
                inspection.add(mesh.file, "has an area of \(sums.area) mm², result.json states \(mesh.areaMm2)")
            } else if abs(sums.volume - mesh.volumeMm3) > 1e-4 * max(abs(mesh.volumeMm3), 1) {
                inspection.add(mesh.file, "encloses \(sums.volume) mm³, result.json states \(mesh.volumeMm3)")
            }
            if let geometry, let far = surface.vertex(outside: box, of: geometry, margin: margin) {
                inspection.add(
                    mesh.file,
                    "has a vertex at (\(far.x), \(far.y), \(far.z)) mm RAS, outside the voxels of \(name)"
                )
            }
        }
    }
}

/// Properties of a surface that one pass can determine.
struct SurfaceSums {
    private(set) var area = 0.0
    /// The enclosed volume, for vertices in counter-clockwise order seen from outside.
    private(set) var volume = 0.0
    /// Whether every edge is traversed equally often in both directions.
    private(set) var isClosed: Bool

    init(of mesh: SurfaceMesh) {
        // A sum in which an edge and its reverse cancel; zero by chance with probability 2^-64.
        var balance: UInt64 = 0
        for triangle in mesh.triangles {
            let (a, b, c) = (mesh.place(triangle.x), mesh.place(triangle.y), mesh.place(triangle.z))
            area += length(cross(b - a, c - a)) / 2
            volume += dot(a, cross(b, c)) / 6
            balance &+= Self.signed(triangle.x, triangle.y)
            balance &+= Self.signed(triangle.y, triangle.z)
            balance &+= Self.signed(triangle.z, triangle.x)
        }
        isClosed = balance == 0
    }

    private static func signed(_ from: UInt32, _ to: UInt32) -> UInt64 {
        guard from != to else { return 0 }
        // The mixing function of SplitMix64.
        var word = UInt64(min(from, to)) << 32 | UInt64(max(from, to))
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        word ^= word >> 31
        return from < to ? word : 0 &- word
    }
}

extension LabelColor {
    fileprivate init(_ color: SIMD3<UInt8>) { self.init(red: color.x, green: color.y, blue: color.z) }
}

extension SurfaceMesh {
    fileprivate func place(_ index: UInt32) -> SIMD3<Double> { SIMD3<Double>(vertices[Int(index)]) }

    /// The number of edges with more than two triangles, as between parts that share a wall; nil for few of them: two
    /// vertices may be stored as the same three numbers.
    fileprivate func edgesOfSeveralFaces(_ flag: CancellationFlag) throws(CancelledError) -> Int? {
        // Some million edges are sorted in parts of about a million, by their lower vertex, so that none takes a second.
        let step = vertices.count / (1 + 3 * triangles.count / 1_000_000) + 1
        var parts = [[UInt64]](repeating: [], count: vertices.count / step + 1)
        for triangle in triangles {
            for corner in 0..<3 {
                let (from, to) = (triangle[corner], triangle[(corner + 1) % 3])
                guard from != to else { continue }
                let (low, high) = (min(from, to), max(from, to))
                parts[Int(low) / step].append(UInt64(low) << 32 | UInt64(high))
            }
        }
        var (shared, count) = (0, 0)
        for var edges in parts {
            try flag.check()
            edges.sort()
            count += edges.count
            var start = 0
            while start < edges.count {
                var end = start + 1
                while end < edges.count, edges[end] == edges[start] { end += 1 }
                if end - start > 2 { shared += 1 }
                start = end
            }
        }
        return shared * 1000 > count / 2 ? shared : nil
    }

    /// A vertex further outside the box, or outside the whole volume if no box is given, than `margin` voxels of the largest
    /// spacing: smoothing moves a vertex towards its neighbours, which are that far away.
    fileprivate func vertex(
        outside box: SegmentationResult.Box?,
        of geometry: VolumeGeometry,
        margin: Double
    ) -> SIMD3<Float>? {
        guard let toIndex = geometry.affine.inverse else { return vertices.first }
        let shape = geometry.shape
        let first = box?.lower ?? [0, 0, 0]
        let last = box?.upper ?? [shape.x - 1, shape.y - 1, shape.z - 1]
        let spacing = geometry.spacing
        let allowed = margin * spacing.max() / spacing
        let lower = SIMD3(Double(first[0]), Double(first[1]), Double(first[2])) - allowed
        let upper = SIMD3(Double(last[0]), Double(last[1]), Double(last[2])) + allowed
        return vertices.first { vertex in
            let index = toIndex(SIMD3<Double>(vertex))
            return any(index .< lower) || any(index .> upper)
        }
    }
}
