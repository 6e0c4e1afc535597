import NocturneCore
import NocturneJournal
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneSystem

/// `result.json` of a volume whose isosurfaces were made: a function of the volume and the options. It contains no times
/// and no locations.
struct IsosurfacesResult: ItemResult {
    /// In RAS+ mm.
    struct Bounds: Codable {
        let lower: [Double]
        let upper: [Double]
    }

    /// The surface at one value, with its measures.
    struct Surface: Codable {
        /// In ``IsosurfacesResult/unit``.
        let value: Double
        /// The value as a text.
        let name: String
        /// `#rrggbb`.
        let color: String
        let status: String
        /// Voxels with the value or more.
        let voxelCount: Int
        /// First and last index of these voxels.
        @Nullable var boundingBox: SegmentationResult.Box?
        let triangles: Int
        @Nullable var areaMm2: Double?
        /// Enclosed by the surface.
        @Nullable var volumeMm3: Double?
        @Nullable var volumeMl: Double?
        @Nullable var boundsRasMm: Bounds?
        /// Whether every edge has the same number of triangles on both sides.
        @Nullable var closed: Bool?
        /// Whether the volume ends inside the surface, which is closed at the border.
        let touchesBorder: Bool
        /// Null if none was requested.
        @Nullable var mesh: SegmentationResult.Mesh?
    }

    let schemaVersion: Int
    let disclaimer: String
    let task: String
    let item: String
    let fingerprint: String
    let source: SegmentationResult.Source
    /// Of intensities; null if the header states none.
    @Nullable var unit: String?
    let options: [String: String]
    /// By ascending value.
    let surfaces: [Surface]
    let files: [ItemFile]
    var notes: [String]
    var noteCodes: [Note.Code]?

    /// Rows for the batch's statistics table.
    var statistics: [Statistic] { source.timeRows + surfaces.flatMap(\.statistics) }

    /// Alternative texts of the pictures.
    static var pictureTitles: KeyValuePairs<String, String> {
        PictureFiles.titles(
            preview: "Three slices with the outlines of the voxels at or above each value, projections, and surfaces",
            labels: true
        )
    }

    /// The values as the page shows them.
    static func reviewLabels(_ surfaces: [Surface]) -> [ReviewParts.Label] {
        surfaces.enumerated().map { index, surface in
            ReviewParts.Label(
                value: index + 1,
                name: surface.name,
                color: surface.color,
                mesh: surface.mesh?.reviewFile
            )
        }
    }
}

extension IsosurfacesResult.Surface {
    fileprivate var statistics: [Statistic] {
        func row(_ measure: String, _ value: Double?, _ unit: String) -> Statistic {
            Statistic(label: "isosurface:" + name, measure: measure, value: value, unit: unit)
        }
        return [
            row("voxelCount", Double(voxelCount), "1"),
            row("volume", volumeMl, "ml"),
            row("area", areaMm2, "mm2"),
            row("triangles", Double(triangles), "1"),
            row("touchesBorder", voxelCount > 0 ? (touchesBorder ? 1 : 0) : nil, "1"),
        ]
    }
}

extension IsosurfacesResult.Surface {
    /// Measures a surface, and writes it if there is a writer.
    /// - Parameter surface: nil for a value that no voxel reaches, whose area and volume are null.
    init(_ level: IsosurfaceLevel, _ surface: SurfaceMesh?, _ writer: SurfaceWriter?) throws {
        func point(_ value: SIMD3<Float>) -> [Double] { (0..<3).map { Double(value[$0]).roundedForResults() } }
        let sums = surface.map(SurfaceSums.init)
        value = level.value
        name = level.name
        color = level.color.description
        status = level.status.rawValue
        voxelCount = level.voxelCount
        boundingBox = level.box.map(SegmentationResult.Box.init)
        triangles = surface?.triangles.count ?? 0
        func measure(_ value: Double) -> Double { value.roundedForResults(scale: abs(value)) }
        areaMm2 = sums.map { measure($0.area) }
        volumeMm3 = sums.map { measure($0.volume) }
        // 1 ml is 1000 mm³.
        volumeMl = sums.map { measure($0.volume / 1000) }
        boundsRasMm = surface.map {
            .init(
                lower: point($0.vertices.reduce(SIMD3(repeating: .infinity)) { pointwiseMin($0, $1) }),
                upper: point($0.vertices.reduce(SIMD3(repeating: -.infinity)) { pointwiseMax($0, $1) })
            )
        }
        closed = sums?.isClosed
        touchesBorder = level.status == .touchesBorder
        mesh = nil
        guard let surface, let sums, let writer else { return }
        let color = level.color.components
        mesh = try writer.write(surface, name: name, color: color, area: sums.area, volume: sums.volume)
    }
}

extension IsosurfacesResult: InspectableResult {
    func inspectFiles(_ inspection: inout ItemInspection) throws {
        let geometry = inspection.geometry(of: source)
        for surface in surfaces {
            guard let mesh = surface.mesh else { continue }
            if mesh.triangles != surface.triangles || mesh.areaMm2 != surface.areaMm2
                || mesh.volumeMm3 != surface.volumeMm3
            {
                inspection.add("result.json", "gives two sizes of the surface at \(surface.name)")
            }
            // A surface ends before the next voxel.
            try inspection.inspect(
                mesh,
                of: surface.name,
                color: surface.color,
                within: surface.boundingBox,
                geometry,
                margin: 1.01
            )
        }
        try inspection.inspectPictures()
    }
}
