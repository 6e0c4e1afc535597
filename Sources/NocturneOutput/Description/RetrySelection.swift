package import NocturneJournal
import NocturneSystem

/// Which items that ended without a result are tried again.
public enum RetrySelection: Sendable, Hashable {
    case none
    case all
    /// Those whose reason has one of these codes, or a code of one of these domains: `dicom.missingSlices`, `dicom`.
    case codes(Set<String>)

    /// Whether an item is among them. Those whose reason was not recorded are tried again only with ``all``.
    package func contains(_ item: JournalItem) -> Bool {
        switch self {
        case .none: false
        case .all: true
        case .codes(let codes):
            item.reason.map { codes.contains($0.code.rawValue) || codes.contains($0.code.domain) } ?? false
        }
    }
}
