internal import Foundation
internal import NocturneSystem

/// What another library computed with a network when its package was made, so that any machine can show that it computes the
/// same, without that library.
///
/// The exporters write it next to the network, as `network.check.json` next to `network.onnx`.
struct RecordedOutput: Sendable, Decodable {
    /// Its name and version, for people.
    let library: String
    /// The shape of the first input, whose values are those of ``EngineComparison/smoothPatch(_:)``.
    let input: [Int]
    /// Of the first output, in its order and at equal distances.
    let values: [Float]

    /// Largest difference from the recorded values, divided by the largest of them, that rounding explains. Of real networks it was
    /// 9e-6 to 3e-5 in float32; wrong arithmetic differs by a hundredth and more.
    static let limit = 1e-3

    /// Reads the record of an ONNX file; nil if it has none.
    /// - Throws: `FileSystemError`; ``ModelFormatError`` for a file that is not a record.
    static func read(for network: String) throws -> RecordedOutput? {
        let path = String(network.dropLast(network.hasSuffix(".onnx") ? 5 : 0)) + ".check.json"
        guard FileSystem.exists(path) else { return nil }
        let bytes = try FileSystem.read(path, limit: 1 << 20)
        guard let record = try? JSONDecoder().decode(RecordedOutput.self, from: Data(bytes)), record.isUsable else {
            let reason = "not a record of a network's output; import the package again, or remove the file"
            throw ModelFormatError.unreadable(path: path, reason: reason)
        }
        return record
    }

    /// The product of five extents of 4,096 fits into an integer.
    private var isUsable: Bool {
        (3...5).contains(input.count) && input.allSatisfy { (1...4096).contains($0) } && input.reduce(1, *) <= 1 << 26
            && !values.isEmpty
    }

    /// The largest difference of an output from the recorded values, divided by the largest of these; infinite for an output that
    /// is too small or has values that are not numbers.
    func difference(from output: [Float]) -> Double {
        guard output.count >= values.count else { return .infinity }
        let found = values.indices.map { output[(2 * $0 + 1) * output.count / (2 * values.count)] }
        return Tensor.relativeDifferences(found, values).maximum
    }
}
