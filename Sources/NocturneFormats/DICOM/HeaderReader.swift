internal import CDICOMParser
internal import NocturneConcurrency
internal import NocturneSystem
internal import Synchronization

/// Reads the headers of files on all threads.
struct HeaderReader {
    enum Header: Sendable {
        case object(SharedValue<DICOMObject>)
        case fault(DICOMReadError)
        case notDICOM
    }

    struct File: Sendable {
        let path: String
        let header: Header
    }

    let scope: ComputeScope
    let progress: (@Sendable (_ done: Int, _ all: Int) -> Void)?
    /// Called with the paths that are about to be read, from the thread that does it.
    let looking: @Sendable (_ paths: [String]) -> Void

    /// One file for each path, in their order.
    /// - Parameter before: the number of files that were read before, for `progress`.
    func read(_ paths: [String], before: Int) throws(CancelledError) -> [File] {
        let headers = Mutex([Header](repeating: .notDICOM, count: paths.count))
        let done = Atomic<Int>(before)
        let texts = RepeatedTexts()
        try scope.forEach(paths.count) { index in
            looking([paths[index]])
            let header = header(of: paths[index], texts)
            headers.withLock { $0[index] = header }
            progress?(done.add(1, ordering: .relaxed).newValue, before + paths.count)
        }
        return headers.withLock { zip(paths, $0).map { File(path: $0, header: $1) } }
    }

    /// Reads the same headers and keeps only which files belong to one series.
    func survey(_ paths: SortedPaths) throws(CancelledError) -> HeaderSurvey {
        let survey = Mutex(HeaderSurvey(count: paths.count))
        let done = Atomic<Int>(0)
        try scope.forEach(paths.count) { index in
            let path = paths[index]
            looking([path])
            let header = header(of: path, nil)
            survey.withLock { $0.set(header, at: index) }
            progress?(done.add(1, ordering: .relaxed).newValue, paths.count)
        }
        return survey.withLock { $0 }
    }

    /// - Parameter texts: what the header shares with others that are kept; nil for one that is not kept.
    private func header(of path: String, _ texts: RepeatedTexts?) -> Header {
        var error = cdicom_error()
        switch cdicom_looks_like_dicom(path, &error) {
        case 1: break
        case 0: return .notDICOM
        default: return .fault(DICOMReadError(CDICOM_NOT_OPENED, error, path: path))
        }
        do {
            var object = try DICOMObject.readHeader(path: path)
            if let error = Self.rejection(of: object) { return .fault(error) }
            texts?.share(in: &object)
            return .object(SharedValue(wrappedValue: object))
        } catch {
            return .fault(error)
        }
    }

    /// Why an object that was read does not belong to any series.
    private static func rejection(of object: DICOMObject) -> DICOMReadError? {
        if object.sopClassUID == "1.2.840.10008.1.3.10" {
            return DICOMReadError(
                .mediaDirectory,
                path: object.path,
                detail: "a DICOMDIR, which only lists other files"
            )
        }
        if object.sopClassUID.isEmpty, object.modality.isEmpty, object.rows == nil {
            return DICOMReadError(
                .notAnImageClass,
                path: object.path,
                detail: "no image: SOPClassUID (0008,0016), Modality (0008,0060) and Rows (0028,0010) are missing"
            )
        }
        return nil
    }
}
