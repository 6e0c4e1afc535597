import NocturneSystem

/// Whether the slices of an even stack are further apart than they are thick, so that slices may be missing between them.
enum StackSparseness {
    case none
    /// Enough slices to trust their distance.
    case noted(Note)
    /// Too few of them: slices of a larger series.
    case fragment(DICOMReadError)

    /// The distance of slices relative to the largest stated one. Gaps of half a thickness are common in MR.
    private static let limit = 1.6
    /// With fewer slices, only one or two distances show that the distance is even.
    private static let leastSlices = 4

    init(_ slices: [DICOMSlice], usualStep: Double) {
        // Scanners state the thickness, the distance, or the gap between slices in either element.
        let plausible = SliceStack.Tolerance.pixelSizes
        let thickness = slices.compactMap(\.sliceThickness).filter(plausible.contains).max() ?? 0
        let spacing =
            slices.compactMap { $0.object.spacingBetweenSlices.map { abs($0) } }.filter(plausible.contains).max() ?? 0
        let stated = max(thickness, spacing)
        guard stated > 0, usualStep > Self.limit * stated else {
            self = .none
            return
        }
        let element = spacing > thickness ? "SpacingBetweenSlices (0018,0088)" : "SliceThickness (0018,0050)"
        let fact: Sentence =
            "\(slices.count) slices \(own: figure(usualStep)) mm apart, but \(own: element) is \(own: figure(stated)) mm"
        if slices.count < Self.leastSlices {
            let detail = "\(fact.description): part of a series whose other slices are missing"
            self = .fragment(DICOMReadError(.missingSlices, path: slices[0].path, detail: detail))
        } else {
            self = .noted(Note("dicom.slicesApart", "\(fact): what lies between the slices is not imaged"))
        }
    }
}

extension SliceStack {
    var sparseness: StackSparseness { StackSparseness(slices, usualStep: usualStep) }
}
