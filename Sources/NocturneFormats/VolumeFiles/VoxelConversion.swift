extension VoxelConversion {
    /// A number as stored in a NIfTI file.
    protocol StoredVoxel: BitwiseCopyable {
        var storedAsFloat: Float { get }
        var storedAsDouble: Double { get }
        var byteSwapped: Self { get }
    }
}

extension VoxelConversion.StoredVoxel where Self: FixedWidthInteger {
    @inline(__always) var storedAsFloat: Float { Float(self) }
    @inline(__always) var storedAsDouble: Double { Double(self) }
}

extension UInt8: VoxelConversion.StoredVoxel {}
extension Int8: VoxelConversion.StoredVoxel {}
extension UInt16: VoxelConversion.StoredVoxel {}
extension Int16: VoxelConversion.StoredVoxel {}
extension UInt32: VoxelConversion.StoredVoxel {}
extension Int32: VoxelConversion.StoredVoxel {}
extension UInt64: VoxelConversion.StoredVoxel {}
extension Int64: VoxelConversion.StoredVoxel {}

extension Float: VoxelConversion.StoredVoxel {
    @inline(__always) var storedAsFloat: Float { self }
    @inline(__always) var storedAsDouble: Double { Double(self) }
    @inline(__always) var byteSwapped: Float { Float(bitPattern: bitPattern.byteSwapped) }
}

extension Double: VoxelConversion.StoredVoxel {
    @inline(__always) var storedAsFloat: Float { Float(self) }
    @inline(__always) var storedAsDouble: Double { self }
    @inline(__always) var byteSwapped: Double { Double(bitPattern: bitPattern.byteSwapped) }
}

/// The loops from stored numbers to voxels, one for each stored type.
enum VoxelConversion {
    /// Converts a run of stored numbers and returns how many results are NaN or infinite.
    typealias ToFloats = (UnsafeRawPointer, Int, UnsafeMutablePointer<Float>) -> Int
    /// Converts a run of stored numbers.
    typealias ToLabels = (UnsafeRawPointer, Int, UnsafeMutablePointer<UInt16>) -> LabelRun

    /// What a run of numbers is as labels.
    struct LabelRun {
        /// The first that is not a label.
        var fault: (index: Int, value: Double)?
        /// Whether some are only nearly whole, and were rounded.
        var isRounded = false
    }

    /// A number is a label if it is at most this far from an integer in 0...65535.
    ///
    /// Tools that compute in floating point, or store labels with a slope as other images, write 0.9999999997671694 or 1.0000152587890625
    /// for 1. Probabilities and interpolated labels are further away.
    static let labelTolerance = 1e-3

    /// Integers with a slope represent a label to half a step: 1 of 0...2 in a byte is 128 · 2/255 = 1.0039. Steps are so small that
    /// no probability is near a label.
    private static func tolerance<Stored: StoredVoxel>(_ type: Stored.Type, _ rule: Rule) -> Double {
        guard rule.scaled, type is any BinaryInteger.Type else { return labelTolerance }
        return labelTolerance + min(abs(rule.slope) / 2, 0.02)
    }

    /// How a stored number is converted to a value; by default it is the value, in the machine's byte order.
    struct Rule {
        var swapped = false
        var scaled = false
        var slope = 1.0
        var intercept = 0.0
    }

    // Both switches name each type, so that each loop is compiled for its type.
    static func toFloats(_ header: VolumeFileHeader) -> ToFloats { toFloats(header.dataType, Rule(header)) }

    /// For numbers of other files, in the machine's byte order and without scaling.
    static func toFloats(native type: StoredVoxelType) -> ToFloats { toFloats(type, Rule()) }

    private static func toFloats(_ type: StoredVoxelType, _ rule: Rule) -> ToFloats {
        switch type {
        case .uint8: { floats(UInt8.self, rule, $0, $1, $2) }
        case .int8: { floats(Int8.self, rule, $0, $1, $2) }
        case .uint16: { floats(UInt16.self, rule, $0, $1, $2) }
        case .int16: { floats(Int16.self, rule, $0, $1, $2) }
        case .uint32: { floats(UInt32.self, rule, $0, $1, $2) }
        case .int32: { floats(Int32.self, rule, $0, $1, $2) }
        case .uint64: { floats(UInt64.self, rule, $0, $1, $2) }
        case .int64: { floats(Int64.self, rule, $0, $1, $2) }
        case .float32: { floats(Float.self, rule, $0, $1, $2) }
        case .float64: { floats(Double.self, rule, $0, $1, $2) }
        }
    }

    static func toLabels(_ header: VolumeFileHeader) -> ToLabels {
        let rule = Rule(header)
        return switch header.dataType {
        case .uint8: { labels(UInt8.self, rule, $0, $1, $2) }
        case .int8: { labels(Int8.self, rule, $0, $1, $2) }
        case .uint16: { labels(UInt16.self, rule, $0, $1, $2) }
        case .int16: { labels(Int16.self, rule, $0, $1, $2) }
        case .uint32: { labels(UInt32.self, rule, $0, $1, $2) }
        case .int32: { labels(Int32.self, rule, $0, $1, $2) }
        case .uint64: { labels(UInt64.self, rule, $0, $1, $2) }
        case .int64: { labels(Int64.self, rule, $0, $1, $2) }
        case .float32: { labels(Float.self, rule, $0, $1, $2) }
        case .float64: { labels(Double.self, rule, $0, $1, $2) }
        }
    }

    private static func floats<Stored: StoredVoxel>(
        _ type: Stored.Type,
        _ rule: Rule,
        _ bytes: UnsafeRawPointer,
        _ count: Int,
        _ target: UnsafeMutablePointer<Float>
    ) -> Int {
        let stored = bytes.assumingMemoryBound(to: Stored.self)
        // Both conditions are tested outside the loops, so that each loop is vectorised.
        switch (rule.swapped, rule.scaled) {
        case (false, false): for i in 0..<count { target[i] = stored[i].storedAsFloat }
        case (true, false): for i in 0..<count { target[i] = stored[i].byteSwapped.storedAsFloat }
        case (false, true):
            for i in 0..<count { target[i] = Float(stored[i].storedAsDouble * rule.slope + rule.intercept) }
        case (true, true):
            for i in 0..<count { target[i] = Float(stored[i].byteSwapped.storedAsDouble * rule.slope + rule.intercept) }
        }
        var nonFinite: UInt32 = 0
        for i in 0..<count {
            nonFinite &+= target[i].bitPattern & 0x7f80_0000 == 0x7f80_0000 ? 1 : 0
        }
        return Int(nonFinite)
    }

    private static func labels<Stored: StoredVoxel>(
        _ type: Stored.Type,
        _ rule: Rule,
        _ bytes: UnsafeRawPointer,
        _ count: Int,
        _ target: UnsafeMutablePointer<UInt16>
    ) -> LabelRun {
        let stored = bytes.assumingMemoryBound(to: Stored.self)
        let tolerance = tolerance(type, rule)
        var flags: UInt64 = 0
        func add(_ value: Double, _ index: Int) { flags |= label(value, tolerance, target + index) }
        switch (rule.swapped, rule.scaled) {
        case (false, false): for i in 0..<count { add(stored[i].storedAsDouble, i) }
        case (true, false): for i in 0..<count { add(stored[i].byteSwapped.storedAsDouble, i) }
        case (false, true): for i in 0..<count { add(stored[i].storedAsDouble * rule.slope + rule.intercept, i) }
        case (true, true):
            for i in 0..<count { add(stored[i].byteSwapped.storedAsDouble * rule.slope + rule.intercept, i) }
        }
        if flags & 2 == 0 { return LabelRun(isRounded: flags != 0) }
        // The loops above do not stop, so that they are vectorised; the first invalid voxel is searched afterwards.
        for i in 0..<count {
            let plain = (rule.swapped ? stored[i].byteSwapped : stored[i]).storedAsDouble
            let value = rule.scaled ? plain * rule.slope + rule.intercept : plain
            if label(value, tolerance, target + i) & 2 != 0 { return LabelRun(fault: (i, value)) }
        }
        return LabelRun()
    }

    /// Stores the integer in 0...65535 nearest to `value`.
    /// - Returns: 0 if that is the value itself, 1 if it is within the tolerance, 3 if not.
    ///
    /// Adding 2⁵² leaves the integer in the low bits of a double, without a conversion that could trap.
    @inline(__always)
    private static func label(_ value: Double, _ tolerance: Double, _ target: UnsafeMutablePointer<UInt16>) -> UInt64 {
        let shift: Double = 0x1p52
        let held = value > 0 ? (value < 65535 ? value : 65535) : 0
        let shifted = held + shift
        target.pointee = UInt16(truncatingIfNeeded: shifted.bitPattern)
        let distance = abs(shifted - shift - value)
        // NaN is not less than anything.
        return (distance == 0 ? 0 : 1) | (distance <= tolerance ? 0 : 2)
    }
}

extension VoxelConversion.Rule {
    init(_ header: VolumeFileHeader) {
        let native: VolumeFileHeader.ByteOrder = Int(littleEndian: 1) == 1 ? .little : .big
        self.init(
            swapped: header.byteOrder != native,
            scaled: header.hasScaling,
            slope: header.scalingSlope,
            intercept: header.scalingIntercept
        )
    }
}
