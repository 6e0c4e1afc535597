internal import CDICOMParser
import NocturneSystem

/// What is remarkable about the value of an element with numbers that is there.
///
/// The parser makes all of them in one place (`Node::read`), also for elements that are absent or as the standard has them, which have no
/// remark. An unusable value never becomes a default.
struct ValueRemark: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        /// Nothing but spaces: counts as missing.
        case empty
        /// Has one meaning, and is read so: a decimal comma, the element's own unit, one distance for both directions.
        case repaired(readAs: String)
        /// Not a number, or not as many as the element has.
        case unusable
        /// There twice, with different values.
        case twice
    }

    let element: NumericElement
    let kind: Kind
    /// As stored.
    let text: String

    var isUnusable: Bool { kind == .unusable || kind == .twice }

    var description: String { sentence.description }

    /// Why the value cannot be used, or how it was read; for a value that is about the patient, without it.
    var sentence: Sentence {
        let isShown = element.use != .uptakeOfPatient
        let shown: Sentence = isShown ? " \"\(text)\"" : ""
        switch kind {
        case .empty: return "\(own: element.name) is empty"
        case .repaired(let numbers):
            return "\(own: element.name)\(shown) was read as " + (isShown ? "\(numbers)" : "\(own: element.expected)")
        case .unusable:
            return "the value\(shown) of \(own: element.name) cannot be used: it is not \(own: element.expected)"
        case .twice:
            let first: Sentence = isShown ? ", first\(shown)" : ""
            return "\(own: element.name) is there twice, with different values\(first)"
        }
    }

    static func all(_ remarks: cdicom_remarks) -> [ValueRemark] {
        guard remarks.count > 0 else { return [] }
        return withUnsafeBytes(of: remarks.remarks) { bytes in
            bytes.bindMemory(to: cdicom_remark.self).prefix(Int(remarks.count)).map(ValueRemark.init)
        }
    }

    private init(_ remark: cdicom_remark) {
        element = .of(remark.tag)
        text = NocturneFormats.text(remark.text)
        kind =
            switch Int(remark.kind) {
            case CDICOM_VALUE_EMPTY: .empty
            case CDICOM_VALUE_REPAIRED: .repaired(readAs: NocturneFormats.text(remark.read_as))
            case CDICOM_VALUE_TWICE: .twice
            default: .unusable
            }
    }

    init(_ tag: UInt32, _ kind: Kind, text: String) {
        element = .of(tag)
        self.kind = kind
        self.text = text
    }

    /// Notes on the values of a series that were repaired or left out, one for each element and kind.
    static func notes(of slices: [DICOMSlice]) -> [Note] {
        var found: [(first: ValueRemark, files: Set<String>)] = []
        var files: Set<String> = []
        for slice in slices where files.insert(slice.path).inserted {
            for remark in slice.object.remarks where remark.kind != .empty {
                let place = found.firstIndex {
                    $0.first.element == remark.element && $0.first.isUnusable == remark.isUnusable
                }
                if let place { found[place].files.insert(slice.path) } else { found.append((remark, [slice.path])) }
            }
        }
        return found.map { first, own in
            let others: Sentence = own.count > 1 ? ", in \(own.count) of \(files.count) files" : ""
            return Note(
                first.isUnusable ? "dicom.unusableValue" : "dicom.repairedValue",
                first.sentence + (first.isUnusable ? "; it counts as missing" : "") + others
            )
        }
    }
}
