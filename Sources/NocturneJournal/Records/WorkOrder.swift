/// The order in which items are processed.
public enum WorkOrder: String, Sendable, CaseIterable {
    /// That of discovery.
    case path
    /// By the latest time of modification of their source files.
    case newest
    /// By the size of their source files.
    case smallest, largest
    /// Such that the first ones, however many, are spread over models and folders.
    case spread

    /// Of the rows of `work`, which `number` counts by model and place.
    var sql: String {
        switch self {
        case .path: "place"
        case .newest: "(SELECT MAX(seconds) FROM foundInput i WHERE i.found = q.found) DESC"
        case .smallest: "(SELECT TOTAL(size) FROM foundInput i WHERE i.found = q.found)"
        case .largest: "(SELECT TOTAL(size) FROM foundInput i WHERE i.found = q.found) DESC"
        // The multiples of the golden ratio: any first ones divide the numbers into parts of nearly one length.
        case .spread: "number * 0.6180339887498949 - CAST(number * 0.6180339887498949 AS INTEGER)"
        }
    }
}
