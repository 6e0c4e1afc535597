internal import NocturneCore

/// Sorts objects into series, and decides for each whether it is a volume.
///
/// Headers come from ``DICOMScanner`` and pixels from ``DICOMReader``; only what lies between is decided here.
enum SeriesTriage {
    /// The series in `objects`, in the order of their first paths. Objects come sorted by path.
    static func series(of objects: [DICOMObject]) -> [DICOMSeries] {
        var groups: [[DICOMObject]] = []
        var placeOfKey: [String: Int] = [:]
        for object in objects {
            // A UID never begins with a slash, so the two kinds of keys cannot meet.
            let key = object.seriesInstanceUID.isEmpty ? "/" + object.folder : object.seriesInstanceUID
            if let place = placeOfKey[key] {
                groups[place].append(object)
            } else {
                placeOfKey[key] = groups.count
                groups.append([object])
            }
        }
        return groups.map(triaged)
    }

    private static func triaged(_ objects: [DICOMObject]) -> DICOMSeries {
        let objects = objects.sorted { (left: DICOMObject, right: DICOMObject) in
            let (a, b) = (left.instanceNumber ?? Int.max, right.instanceNumber ?? Int.max)
            return a != b ? a < b : left.path < right.path
        }
        var series = DICOMSeries(
            seriesInstanceUID: objects[0].seriesInstanceUID,
            modality: objects[0].modality,
            description: objects[0].seriesDescription,
            slices: objects.map(DICOMSlice.init(of:)),
            geometry: nil,
            problem: nil,
            notes: []
        )
        if series.seriesInstanceUID.isEmpty {
            series.notes.append("SeriesInstanceUID (0020,000E) is missing: grouped by folder")
        }
        if objects.contains(where: { $0.photometricInterpretation == "MONOCHROME1" }) {
            series.notes.append("MONOCHROME1: values are kept, only their display is inverted")
        }
        do {
            for object in objects { try ObjectCheck.check(object) }
            var slices: [DICOMSlice] = []
            for object in objects { slices += try object.slices() }
            let stack = try SliceStack(of: slices)
            series.slices = stack.slices
            series.geometry = stack.geometry
        } catch {
            series.problem = error
        }
        return series
    }
}
