import NocturneSystem
import Synchronization

/// Texts that many files have in common, such as the UID of their series, each kept in memory once.
public final class RepeatedTexts: Sendable {
    private let known = Mutex(Known())

    /// No text is known yet. One object serves all threads of a scan.
    public init() {}

    /// Lets `object` share its texts with the objects before it.
    func share(in object: inout DICOMObject) { known.withLock { $0.share(in: &object) } }

    private struct Known {
        var texts: Set<String> = []
        var patients: [PatientIdentity: SharedValue<PatientIdentity?>] = [:]

        mutating func share(in object: inout DICOMObject) {
            object.sharePatient(&patients)
            // By name: reading and writing them through key paths took a third of the time here.
            share(&object.sopClassUID)
            share(&object.sopClassName)
            share(&object.studyInstanceUID)
            share(&object.seriesInstanceUID)
            share(&object.frameOfReferenceUID)
            share(&object.transferSyntaxUID)
            share(&object.transferSyntaxName)
            share(&object.photometricInterpretation)
            if var text = object.seriesDescription {
                share(&text)
                object.seriesDescription = text
            }
            if var text = object.manufacturer {
                share(&text)
                object.manufacturer = text
            }
            for index in object.plane.imageType.indices { share(&object.plane.imageType[index]) }
        }

        private mutating func share(_ text: inout String) {
            // A string holds shorter ones without allocating.
            guard text.utf8.count > 15 else { return }
            text = texts.insert(text).memberAfterInsert
        }
    }
}
