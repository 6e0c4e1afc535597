public import NocturneSystem

/// Why ONNX Runtime, or a device, cannot be used, or which step failed. Networks that the library does not accept cause
/// ``ModelFormatError``s.
public struct EngineError: CodedError, Equatable, CustomStringConvertible {
    /// The kind of error. New kinds may be added.
    public enum Code: Sendable, Equatable {
        /// No library was found in any of the locations.
        case notFound
        /// There is a library, but it cannot be loaded, is too old, or lacks a required function.
        case unusableLibrary
        /// The device that was asked for cannot be used.
        case noDevice
        /// A step with a network failed; the description ends with the library's own message.
        case failed
        /// A device does not answer.
        case unresponsive
        /// A device has no memory for what keeps tiles on it.
        case outOfMemory
    }

    /// The kind of error.
    public let code: Code
    /// The library's path, the network or the device, and what is wrong.
    public let description: String
    /// `engine.onnxruntime`
    public var faultCode: FaultCode { .onnxRuntime }

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    /// Why there is no device to be used.
    static func noDevice(_ reason: String) -> EngineError { EngineError(.noDevice, reason) }

    /// A step with a network failed.
    /// - Parameters:
    ///   - step: completes "failed to".
    ///   - message: the library's own.
    static func failed(_ network: String, _ step: String, _ message: String, _ code: Code = .failed) -> EngineError {
        EngineError(code, "\(network): ONNX Runtime failed to \(step): \(message)")
    }

    /// The library's message on one line.
    static func condensed(_ message: String) -> String {
        let lines = message.split(whereSeparator: \.isNewline)
        let text = lines.joined(separator: " ").split(whereSeparator: \.isWhitespace).joined(separator: " ")
        guard !text.isEmpty else { return "it gave no reason" }
        return text.count > 600 ? text.prefix(600) + " …" : text
    }
}

extension FaultCode {
    /// ONNX Runtime, or the device that it was to use, cannot be used.
    static let onnxRuntime = FaultCode("engine", "onnxruntime")
    /// A GPU failed, or computed other values than the processor.
    static let device = FaultCode("engine", "device")
}

/// Memory for a message of a library's C interface.
struct MessageBuffer {
    private var bytes: [CChar]

    /// - Parameter count: in bytes, with the zero at the end.
    init(count: Int = 4096) { bytes = [CChar](repeating: 0, count: count) }

    @discardableResult
    mutating func fill<R>(_ body: (UnsafeMutablePointer<CChar>?, Int) throws -> R) rethrows -> R {
        bytes[0] = 0
        return try bytes.withUnsafeMutableBufferPointer { try body($0.baseAddress, $0.count) }
    }

    /// What was written, up to the first zero.
    var text: String {
        String(decoding: bytes.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
