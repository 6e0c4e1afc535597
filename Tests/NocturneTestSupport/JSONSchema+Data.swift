package import Foundation
import NocturneSystem

extension JSONSchema {
    package init(_ data: Data) throws { try self.init([UInt8](data)) }

    /// Every way in which the document does not fit, with its place.
    package func faults(in data: Data) throws -> [String] { try faults(in: [UInt8](data)) }
}
