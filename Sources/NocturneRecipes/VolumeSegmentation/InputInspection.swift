public import NocturneConcurrency
import NocturneCore
import NocturneFormats
public import NocturnePipeline

/// What lies below the inputs, without a model in mind.
public struct InputInspection {
    public struct Entry: Encodable, Sendable {
        public let path: String
        @Nullable public var format: String?
        @Nullable public var modality: String?
        @Nullable public var shape: [Int]?
        @Nullable public var spacingMm: [Double]?
        @Nullable public var orientation: String?
        @Nullable public var affineRas: [[Double]]?
        public let details: [String]
        /// Why it is no volume for Nocturne; nil when it is one.
        @Nullable public var problem: String?
    }

    public struct Report: Encodable, Sendable {
        public let entries: [Entry]
        public let notes: [String]
    }

    private let scope: ComputeScope

    public init(scope: ComputeScope) { self.scope = scope }

    /// Reads headers only.
    /// - Throws: ``BatchError`` when an input is not there; `CancelledError`.
    public func run(_ request: DiscoveryRequest) throws -> Report {
        var walk = FileWalk(request: request, flag: scope.flag)
        try walk.run()
        let nifti = walk.files.filter { VolumeDiscovery.isNIfTIName($0.fileName) }
        let others = walk.files.filter { !VolumeDiscovery.isNIfTIName($0.fileName) }
        let scan = try DICOMScanner.scan(paths: others.map(\.path), scope: scope)
        var entries = nifti.map(entry)
        entries += scan.series.map(entry)
        entries += scan.setAside.map { refused($0.path, format: "DICOM", $0.reason.detail) }
        entries += scan.notDICOM.map { refused($0, format: nil, "neither DICOM nor NIfTI") }
        return Report(entries: entries.sorted { $0.path < $1.path }, notes: walk.notes)
    }

    private func refused(_ path: String, format: String?, _ problem: String) -> Entry {
        Entry(
            path: path,
            format: format,
            modality: nil,
            shape: nil,
            spacingMm: nil,
            orientation: nil,
            affineRas: nil,
            details: [],
            problem: problem
        )
    }

    private func entry(_ file: FoundFile) -> Entry {
        do {
            let header = try NIfTIReader.readHeader(at: file.path)
            var details = [
                "\(header.dataType), \(header.byteOrder.rawValue)-endian, q-form code \(header.qformCode), s-form code \(header.sformCode)"
            ]
            if header.hasScaling {
                details.append("values are stored × \(header.scalingSlope) + \(header.scalingIntercept)")
            }
            if header.formsDisagree { details.append("q-form and s-form disagree; the s-form is used") }
            return described(
                file.path,
                "NIfTI-\(header.version.rawValue)",
                nil,
                header.geometry,
                details,
                problem: nil
            )
        } catch {
            return refused(file.path, format: "NIfTI", error.detail)
        }
    }

    private func entry(_ series: DICOMSeries) -> Entry {
        let first = series.slices.first
        var details: [String] = ["\(series.slices.count) slices" + (series.description.map { ", \($0)" } ?? "")]
        let syntaxes = Set(series.slices.map(\.object.transferSyntaxName)).sorted()
        details.append("transfer syntax \(syntaxes.joined(separator: ", "))")
        if let slope = first?.rescaleSlope, let intercept = first?.rescaleIntercept {
            details.append("rescale slope \(slope), intercept \(intercept)")
        }
        if let center = first?.windowCenter, let width = first?.windowWidth {
            details.append("window centre \(center), width \(width)")
        }
        details += series.notes
        let path = first?.path ?? series.seriesInstanceUID
        return described(
            path,
            "DICOM",
            series.modality,
            series.geometry,
            details,
            problem: series.problem?.detail
        )
    }

    private func described(
        _ path: String,
        _ format: String,
        _ modality: String?,
        _ geometry: VolumeGeometry?,
        _ details: [String],
        problem: String?
    ) -> Entry {
        let spacing = geometry?.spacing
        return Entry(
            path: path,
            format: format,
            modality: modality,
            shape: geometry.map { [$0.shape.x, $0.shape.y, $0.shape.z] },
            spacingMm: spacing.map { [$0.x, $0.y, $0.z] },
            orientation: geometry?.orientationCode,
            affineRas: geometry.map { Array($0.affine.rows.prefix(3)) },
            details: details,
            problem: problem
        )
    }
}
