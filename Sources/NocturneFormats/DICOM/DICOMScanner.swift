internal import CDCMTK
public import NocturneConcurrency
internal import Synchronization

/// What lies in a set of files, from their headers alone.
public struct DICOMScan: Sendable {
    /// A DICOM file that belongs to no series, and why.
    public struct SetAside: Sendable, Hashable {
        public let path: String
        public let reason: DICOMReadError

        public init(path: String, reason: DICOMReadError) {
            self.path = path
            self.reason = reason
        }
    }

    /// In the order of their first files' paths. Those that cannot become a volume say so in `problem`.
    public var series: [DICOMSeries]
    /// DICOM files that cannot be read, or hold no object of a series; in the order of their paths.
    public var setAside: [SetAside]
    /// Files which do not begin like DICOM, for other formats to try; in the order of their paths.
    public var notDICOM: [String]

    public init(series: [DICOMSeries], setAside: [SetAside], notDICOM: [String]) {
        self.series = series
        self.setAside = setAside
        self.notDICOM = notDICOM
    }
}

/// Finds the DICOM series in a set of files by content: names and suffixes are not looked at.
public enum DICOMScanner {
    /// Whether the file begins like a DICOM object: "DICM" after the preamble, or a plausible first element without
    /// one. False too when it cannot be read, or is no regular file. Reads 132 bytes.
    public static func looksLikeDICOM(_ path: String) -> Bool { cdcmtk_looks_like_dicom(path, nil) == 1 }

    /// Reads the headers of `paths`, which are files, and groups the objects into series.
    ///
    /// The result depends on the set of paths and the files' contents alone, not on order or threads. Pixels are never
    /// read: about 0.2 ms a usual file and thread, 2 KB of memory a file.
    /// - Parameter progress: called with the number of files read so far and of all, from any of the threads, each
    ///   number once but not always in order.
    /// - Throws: ``CancelledError`` once the scope's flag is raised. A file's own fault is no error but an entry.
    public static func scan(
        paths: [String],
        scope: ComputeScope,
        progress: (@Sendable (_ done: Int, _ all: Int) -> Void)? = nil
    ) throws(CancelledError) -> DICOMScan {
        let paths = Set(paths).sorted()
        let sightings = Mutex([Sighting](repeating: .notDICOM, count: paths.count))
        let done = Atomic<Int>(0)
        try scope.forEach(paths.count) { index in
            let sighting = look(at: paths[index])
            sightings.withLock { $0[index] = sighting }
            progress?(done.add(1, ordering: .relaxed).newValue, paths.count)
        }
        var objects: [DICOMObject] = []
        var scan = DICOMScan(series: [], setAside: [], notDICOM: [])
        for (path, sighting) in zip(paths, sightings.withLock { $0 }) {
            switch sighting {
            case .object(let object): objects.append(object)
            case .fault(let error): scan.setAside.append(.init(path: path, reason: error))
            case .notDICOM: scan.notDICOM.append(path)
            }
        }
        scan.series = SeriesTriage.series(of: objects)
        return scan
    }

    private enum Sighting: Sendable {
        case object(DICOMObject)
        case fault(DICOMReadError)
        case notDICOM
    }

    private static func look(at path: String) -> Sighting {
        var error = cdcmtk_error()
        switch cdcmtk_looks_like_dicom(path, &error) {
        case 1: break
        case 0: return .notDICOM
        default: return .fault(DICOMReadError(CDCMTK_NOT_OPENED, error, path: path))
        }
        do {
            let object = try DICOMObject.readHeader(path: path)
            if let error = notOfASeries(object) { return .fault(error) }
            return .object(object)
        } catch {
            return .fault(error)
        }
    }

    /// Why an object that was read is not part of any series.
    private static func notOfASeries(_ object: DICOMObject) -> DICOMReadError? {
        if object.sopClassUID == "1.2.840.10008.1.3.10" {
            return DICOMReadError(
                .mediaDirectory,
                path: object.path,
                detail: "a DICOMDIR, which only names other files"
            )
        }
        if object.sopClassUID.isEmpty, object.modality.isEmpty, object.rows == nil {
            return DICOMReadError(
                .notReadable,
                path: object.path,
                detail: "neither SOPClassUID (0008,0016), Modality (0008,0060) nor Rows (0028,0010) is present"
            )
        }
        return nil
    }
}
