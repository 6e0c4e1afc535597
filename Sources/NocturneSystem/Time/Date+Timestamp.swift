package import Foundation

extension Date {
    /// - Parameter timestamp: RFC 3339, such as `2026-03-01T10:00:00.250Z`, with or without a fraction of a second.
    package init?(timestamp: String) {
        let dates = [true, false].lazy.compactMap { hasFraction in
            try? Date(timestamp, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: hasFraction))
        }
        guard let date = dates.first else { return nil }
        self = date
    }
}
