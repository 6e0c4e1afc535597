import NocturneSystem
import Synchronization

/// Texts that many files have in common, such as the UID of their series, each kept in memory once.
public final class RepeatedTexts: Sendable {
    private let known = Mutex<Set<String>>([])
    private let patients = Mutex<[PatientIdentity: SharedValue<PatientIdentity?>]>([:])

    public init() {}

    /// Lets `object` share its texts with the objects before it.
    func share(in object: inout DICOMObject) {
        patients.withLock { object.sharePatient(&$0) }
        known.withLock { known in
            for text in Self.texts { share(&object[keyPath: text], known: &known) }
            for text in Self.optionalTexts {
                if var value = object[keyPath: text] {
                    share(&value, known: &known)
                    object[keyPath: text] = value
                }
            }
            for index in object.plane.imageType.indices { share(&object.plane.imageType[index], known: &known) }
        }
    }

    private func share(_ text: inout String, known: inout Set<String>) {
        // A string holds shorter ones without allocating.
        guard text.utf8.count > 15 else { return }
        text = known.insert(text).memberAfterInsert
    }

    private static var texts: [WritableKeyPath<DICOMObject, String>] {
        [
            \.sopClassUID, \.sopClassName, \.studyInstanceUID, \.seriesInstanceUID, \.frameOfReferenceUID,
            \.transferSyntaxUID, \.transferSyntaxName, \.photometricInterpretation,
        ]
    }

    private static var optionalTexts: [WritableKeyPath<DICOMObject, String?>] { [\.seriesDescription, \.manufacturer] }
}
