internal import CDICOMParser
internal import NocturneConcurrency
public import NocturneSystem
internal import Synchronization

extension DICOMScanner {
    /// What reading the header of one file has given.
    public enum FileHeader: Sendable {
        case object(SharedValue<DICOMObject>)
        /// Why a file that should be an object belongs to no series.
        case fault(DICOMReadError)
        /// The file does not start like a DICOM file.
        case notDICOM
    }

    /// Reads the headers of files on all threads.
    struct HeaderReader {
        struct File: Sendable {
            let path: String
            let header: DICOMScanner.FileHeader
        }

        let scope: ComputeScope
        var progress: (@Sendable (_ done: Int, _ all: Int) -> Void)?
        /// Called with the paths that are about to be read, from the thread that does it.
        var looking: @Sendable (_ paths: [String]) -> Void = { _ in }

        /// One file for each path, in their order.
        func read(_ paths: [String]) throws(CancelledError) -> [File] {
            let done = Atomic<Int>(0)
            let texts = RepeatedTexts()
            return try scope.map(paths.count) { index in
                looking([paths[index]])
                let file = File(path: paths[index], header: Self.header(of: paths[index], texts))
                progress?(done.add(1, ordering: .relaxed).newValue, paths.count)
                return file
            }
        }

        /// - Parameter texts: what the header shares with others that are kept.
        static func header(of path: String, _ texts: RepeatedTexts) -> DICOMScanner.FileHeader {
            var error = cdicom_error()
            switch cdicom_looks_like_dicom(path, &error) {
            case 1: break
            case 0: return .notDICOM
            default: return .fault(DICOMReadError(CDICOM_NOT_OPENED, error, path: path))
            }
            do {
                var object = try DICOMObject.readHeader(path: path)
                if let error = rejection(of: object) { return .fault(error) }
                texts.share(in: &object)
                return .object(SharedValue(wrappedValue: object))
            } catch {
                return .fault(error)
            }
        }

        /// Why an object that was read does not belong to any series.
        private static func rejection(of object: DICOMObject) -> DICOMReadError? {
            if object.sopClassUID == "1.2.840.10008.1.3.10" {
                return object.error(.mediaDirectory, "a DICOMDIR, which only lists other files")
            }
            if object.sopClassUID.isEmpty, object.modality.isEmpty, object.plane.rows == nil {
                return object.error(
                    .notAnImageClass,
                    "no image: SOPClassUID (0008,0016), Modality (0008,0060) and Rows (0028,0010) are missing"
                )
            }
            return nil
        }
    }
}
