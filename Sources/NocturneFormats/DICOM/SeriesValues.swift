import NocturneSystem

/// Whether the values of all slices of a volume mean the same.
///
/// An element that all slices lack has the default that every reader gives it, with a note where the standard requires it. One
/// that only some lack has no default: those slices may be scaled differently.
enum SeriesValues {
    static func check(_ slices: [DICOMSlice]) throws(DICOMReadError) {
        let untabled = slices.filter { !$0.object.hasModalityTable }
        if let first = untabled.first, untabled.count < slices.count {
            throw mixed("ModalityLUTSequence (0028,3000)", first, untabled.count, slices, "it is there")
        }
        if !untabled.isEmpty {
            try checkPresence("RescaleSlope (0028,1053)", slices, without: 1) { $0.plane.rescaleSlope }
            try checkPresence("RescaleIntercept (0028,1052)", slices, without: 0) { $0.plane.rescaleIntercept }
        }
        try checkEqual("RescaleType (0028,1054)", slices, type)
        try checkEqual("Units (0054,1001)", slices) { $0.object.units ?? "" }
    }

    /// What was assumed.
    static func notes(_ slices: [DICOMSlice]) -> [Note] {
        guard let first = slices.first, slices.allSatisfy({ !$0.object.hasModalityTable }) else { return [] }
        var notes: [Note] = []
        // The standard requires both for CT and PET, and not for MR.
        let isRequired = ["CT", "PT"].contains(first.object.modality)
        let values: [(name: String, assumed: String, value: (DICOMSlice) -> Double?)] = [
            ("RescaleSlope (0028,1053)", "1", { $0.plane.rescaleSlope }),
            ("RescaleIntercept (0028,1052)", "0", { $0.plane.rescaleIntercept }),
        ]
        for (name, assumed, value) in values {
            let missing = slices.count { value($0) == nil }
            if missing > 0, isRequired || missing < slices.count {
                notes.append(
                    Note(
                        "dicom.valueAssumed",
                        "\(own: name) is missing or empty in \(missing) of \(slices.count) slices: taken as \(own: assumed)"
                    )
                )
            }
        }
        for (name, value) in stated {
            let count = slices.count { slice in value(slice.object.plane).map { $0 != value(slice.plane) } ?? false }
            if count > 0 {
                notes.append(
                    Note(
                        "dicom.frameDiffers",
                        "\(count) frames state another \(own: name) than the data set they are in: the value of the frame is used"
                    )
                )
            }
        }
        if let type = otherType(slices) {
            notes.append(
                Note("dicom.notHounsfield", "RescaleType (0028,1054) is \"\(type)\": the values are not in HU")
            )
        }
        return notes
    }

    /// What frames and the data sets around them may both state.
    private static var stated: [(name: String, value: (DICOMPlane) -> Double?)] {
        [
            ("RescaleSlope (0028,1053)", { $0.rescaleSlope }),
            ("RescaleIntercept (0028,1052)", { $0.rescaleIntercept }),
            ("PixelSpacing (0028,0030)", { $0.rowSpacing }),
        ]
    }

    /// What the values of CT images are that are not in Hounsfield units; nil where they are, and for other images.
    static func otherType(_ slices: [DICOMSlice]) -> String? {
        guard slices.first?.object.modality == "CT" else { return nil }
        return slices.lazy.map(type).first { $0 != "HU" }
    }

    /// The standard's values of CT are in HU, and those of other images of no stated unit, where there is no type.
    private static func type(_ slice: DICOMSlice) -> String {
        let type = slice.plane.rescaleType.uppercased()
        return type.isEmpty ? slice.object.modality == "CT" ? "HU" : "US" : type
    }

    private static func checkPresence(
        _ name: String,
        _ slices: [DICOMSlice],
        without assumed: Double,
        _ value: (DICOMSlice) -> Double?
    ) throws(DICOMReadError) {
        let missing = slices.filter { value($0) == nil }
        guard let first = missing.first, let other = slices.lazy.compactMap(value).first(where: { $0 != assumed })
        else {
            return
        }
        throw mixed(name, first, missing.count, slices, "it is \(figure(other))")
    }

    private static func mixed(
        _ name: String,
        _ first: DICOMSlice,
        _ count: Int,
        _ slices: [DICOMSlice],
        _ elsewhere: String
    ) -> DICOMReadError {
        first.error(
            .valuesDiffer,
            "\(name) is missing or empty in \(first.name), in \(count) of \(slices.count) slices; elsewhere "
                + elsewhere
        )
    }

    private static func checkEqual(
        _ name: String,
        _ slices: [DICOMSlice],
        _ value: (DICOMSlice) -> String
    ) throws(DICOMReadError) {
        guard let first = slices.first, let other = slices.first(where: { value($0) != value(first) }) else { return }
        func shown(_ slice: DICOMSlice) -> String {
            let text = value(slice)
            return text.isEmpty ? "missing" : "\"\(text)\""
        }
        throw other.error(
            .valuesDiffer,
            "\(name) is \(shown(other)) in \(other.name), but \(shown(first)) in \(first.name) of the same series"
        )
    }
}

extension DICOMSeries {
    /// What the values of a CT are that are not in Hounsfield units ("MGML", "US", …), as RescaleType (0028,1054) states it; nil where they
    /// are in Hounsfield units, and for other modalities.
    public var otherValueType: String? { SeriesValues.otherType(slices) }
}
