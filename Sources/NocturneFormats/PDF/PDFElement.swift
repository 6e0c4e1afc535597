/// A part of the structure of a tagged PDF: what screen readers announce and read in order.
public enum PDFElement: Hashable, Sendable {
    /// Parts that belong together.
    case section
    /// 1 is the title of the document.
    case heading(level: Int)
    case paragraph
    case list
    case listItem
    /// A picture with the text that is read in its place.
    case figure(alternative: String)

    /// Its standard structure type (ISO 32000-1, 14.8.4).
    var structureType: String {
        switch self {
        case .section: "Sect"
        case .heading(let level): "H\(min(max(level, 1), 6))"
        case .paragraph: "P"
        case .list: "L"
        case .listItem: "LI"
        case .figure: "Figure"
        }
    }
}
