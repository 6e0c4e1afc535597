import NocturneFormats
import NocturneSystem

/// The volumes among the inputs that labels may refer to.
struct SourceImages {
    /// The volumes that an object may refer to. Only a single one is used: measures of the wrong one would look valid.
    struct Candidates {
        let series: [DICOMSeries]
        /// Whether the object names them; otherwise they only share its frame of reference.
        let isNamed: Bool
        /// Whether the object names images that are not among the inputs.
        var namesOthers = false
        /// The series that it names, if that is among the inputs and cannot be used as a volume.
        var refused: DICOMSeries?

        /// Why the only one is used although the object names others; nil where it does not.
        var substitution: Note? {
            guard namesOthers, series.count == 1 else { return nil }
            return Note(
                "labels.imagesSubstituted",
                "the images that it names are not among the inputs: the only volume in its frame of reference is used"
            )
        }

        /// Why none of them is used.
        func note(fits: Int) -> Note {
            if series.isEmpty { return .noIntensities(absence) }
            if fits == 0 { return .noIntensities("the source images lie on another grid") }
            let reason: Sentence = isNamed ? "it does not state which of them" : "none is named"
            return .noIntensities("\(fits) volumes could be the source images, and \(own: reason)")
        }

        private var absence: Sentence {
            guard let refused else { return "the source images are not among the inputs" }
            let reason: Sentence = refused.problem.map { ": \($0.detail)" } ?? ""
            let needsCorrection = refused.possibleCorrection != nil
            return "the source images are among the inputs, but do not form a volume" + reason
                + (needsCorrection ? "; labels are not put on resampled images, not even with --fix-tilt" : "")
        }
    }

    private let volumes: [DICOMSeries]
    /// Series among the inputs that cannot be used as volumes.
    private let refused: [DICOMSeries]

    init(_ series: [DICOMSeries]) {
        volumes = series.filter { $0.problem == nil && $0.geometry != nil }
        refused = series.filter { $0.problem != nil || $0.geometry == nil }
    }

    /// The note that some of the named images are not among the inputs; nil where all are.
    /// - Parameter chosen: the series that has most of them.
    func missing(_ images: Set<DICOMImageReference>, besides chosen: DICOMSeries) -> Note? {
        var missing = Set(images.map(\.instanceUID))
        for series in [chosen] + volumes + refused where !missing.isEmpty {
            missing.subtract(series.slices.map(\.object.sopInstanceUID))
        }
        guard !missing.isEmpty else { return nil }
        return Note("labels.imagesMissing", "\(missing.count) of the images it refers to are not among the inputs")
    }

    /// The volumes that contain most of the named images; where none is named, those of the named series; else, if nothing
    /// named is among the inputs, those in the same frame of reference, in which coordinates mean the same place.
    func candidates(
        series uid: String,
        images: Set<DICOMImageReference>,
        frameOfReference: String
    ) -> Candidates {
        // Times of a multi-frame object have the same instance: only their frames differ.
        func shared(_ series: DICOMSeries) -> Int {
            series.slices.reduce(0) { count, slice in
                let uid = slice.object.sopInstanceUID
                let hasWhole = images.contains(DICOMImageReference(instanceUID: uid))
                let hasFrame = images.contains(DICOMImageReference(instanceUID: uid, frame: slice.frame + 1))
                return count + (hasWhole ? 1 : 0) + (hasFrame ? 1 : 0)
            }
        }
        let named = uid.isEmpty ? [] : volumes.filter { $0.seriesInstanceUID == uid }
        func most(of group: [DICOMSeries]) -> Candidates? {
            let counted = images.isEmpty ? [] : group.map { ($0, shared($0)) }.filter { $0.1 > 0 }
            guard let maximum = counted.map(\.1).max() else { return nil }
            return Candidates(series: counted.filter { $0.1 == maximum }.map(\.0), isNamed: true)
        }
        // The named series first: to look at the images of all series takes inputs × objects steps. Where it forms no volume, no other
        // one that the object lists as well takes its place.
        if let found = most(of: named) { return found }
        if !uid.isEmpty, let refused = refused.first(where: { $0.seriesInstanceUID == uid }) {
            return Candidates(series: [], isNamed: true, refused: refused)
        }
        if let found = most(of: volumes) { return found }
        if images.isEmpty, !named.isEmpty { return Candidates(series: named, isNamed: true) }
        let namesOthers = !uid.isEmpty || !images.isEmpty
        let refused = self.refused.first { shared($0) > 0 }
        guard refused == nil, !named.isEmpty || !frameOfReference.isEmpty else {
            return Candidates(series: [], isNamed: namesOthers, refused: refused)
        }
        // A series of this number without any of the images: anonymisers give the series of several patients the same.
        let near = named.isEmpty ? volumes : named
        return Candidates(
            series: near.filter { $0.slices.first?.object.frameOfReferenceUID == frameOfReference },
            isNamed: false,
            namesOthers: namesOthers
        )
    }

    /// The candidates of a segmentation, and those of them on whose grid all its frames lie. The frames need not form a grid
    /// themselves.
    /// - Throws: `DICOMReadError`; `CancelledError`.
    func candidates(
        ofSegmentation path: String,
        flag: CancellationFlag
    ) throws -> (all: Candidates, fitting: [(series: DICOMSeries, header: DICOMSegmentation.Header)]) {
        let limits = LabelObject.limits
        let (series, images, frame) = try DICOMSegmentation.readReference(path: path, limits: limits)
        let all = candidates(series: series, images: Set(images), frameOfReference: frame)
        var fitting: [(series: DICOMSeries, header: DICOMSegmentation.Header)] = []
        for series in all.series {
            try flag.check()
            guard let geometry = series.geometry,
                let header = try? DICOMSegmentation.readHeader(path: path, on: geometry, limits: limits)
            else { continue }
            fitting.append((series, header))
        }
        return (all, fitting)
    }
}

extension Note {
    /// Why the intensities of existing labels are not measured.
    static func noIntensities(_ reason: Sentence) -> Note {
        Note("labels.noIntensities", "intensities are not measured: " + reason)
    }
}
