import Foundation
import NocturneCore
import NocturneNumerics
import NocturneSystem
import NocturneTestSupport

/// What nnU-Net's own functions made of small arrays: Tools/fixtures/make_resampling_fixtures.py.
struct NNUNetFixtures: Decodable, Sendable {
    struct Case: Decodable, Sendable {
        let method: ResamplingRule.Method
        let order: ResamplingRule.Order
        let orderZ: ResamplingRule.Order
        /// Of (z, y, x).
        let axis: Int?
        let target: [Int]
        var result: String?
        var classes: String?
        var regions: String?

        var rule: ResamplingRule { ResamplingRule(method: method, order: order, orderZ: orderZ) }
        var separateAxis: Int? { axis.map { 2 - $0 } }
        var shape: VolumeShape { VolumeShape(x: target[2], y: target[1], z: target[0]) }
        var name: String { "\(method), order \(order), \(orderZ) along \(axis ?? -1), to \(target)" }
    }

    private let shape: [Int]
    private let image: String
    private let logits: String
    private let labels: String
    private let outside: String
    let images: [Case]
    let decisions: [Case]
    let segmentations: [Case]

    static func load() throws -> NNUNetFixtures {
        let bytes = try Fixtures.bytes("resampling/nnunet.json")
        return try JSONDecoder().decode(NNUNetFixtures.self, from: Data(bytes))
    }

    var source: VolumeShape { VolumeShape(x: shape[2], y: shape[1], z: shape[0]) }
    var scan: [Float] { numbers(image) }
    /// Three classes, `[class][z][y][x]`.
    var scores: [Float] { numbers(logits) }
    /// Labels, −1 as 0.
    var segmentation: [UInt16] { (numbers(labels) as [Int16]).map { UInt16(max($0, 0)) } }
    /// 1 inside the body.
    var body: [Float] { (numbers(outside) as [UInt8]).map { $0 == 0 ? 1 : 0 } }
}

/// The numbers of a base64 text, little-endian.
func numbers<Number: BitwiseCopyable>(_ text: String?) -> [Number] {
    guard let data = text.flatMap({ Data(base64Encoded: $0) }) else { return [] }
    return data.withUnsafeBytes { bytes in
        (0..<bytes.count / MemoryLayout<Number>.stride).map {
            bytes.loadUnaligned(fromByteOffset: $0 * MemoryLayout<Number>.stride, as: Number.self)
        }
    }
}
