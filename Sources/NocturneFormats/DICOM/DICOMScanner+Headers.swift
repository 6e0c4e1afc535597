internal import NocturneConcurrency
public import NocturneSystem

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
    /// - Returns: one for each path, in their order.
    static func headers(
        of paths: [String],
        _ scope: ComputeScope
    ) throws(CancelledError) -> [(path: String, header: FileHeader)] {
        let texts = RepeatedTexts()
        return try scope.map(paths.count) { (paths[$0], header(of: paths[$0], sharing: texts)) }
    }

    /// Reads the header of one file.
    /// - Parameter texts: what it shares with other headers that are kept; nil for a header that is not.
    public static func header(of path: String, sharing texts: RepeatedTexts?) -> FileHeader {
        do {
            guard var object = try DICOMObject.readHeader(ifDICOM: path) else { return .notDICOM }
            if let error = rejection(of: object) { return .fault(error) }
            texts?.share(in: &object)
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
