#if canImport(Glibc)
    import Glibc
#endif

/// Discrete Fourier transforms of many sequences at once (Stockham's algorithm), in single precision.
///
/// Element n of sequence s is at n · `lanes` + s: the innermost loops run over sequences, which the compiler turns into
/// vectors. Real and imaginary parts are in separate arrays; exchanging them gives the inverse transform.
package struct FourierTransform: Sendable {
    package let length: Int
    private let radices: [Int]
    private let cosines: [Float]
    private let sines: [Float]

    /// - Parameter length: a product of powers of 2, 3 and 5, see ``goodLength(atLeast:)``.
    package init(length: Int) {
        self.length = length
        // 4 before 2: one pass over memory instead of two.
        var radices: [Int] = []
        var left = length
        for radix in [4, 2, 3, 5] {
            while left % radix == 0 {
                radices.append(radix)
                left /= radix
            }
        }
        precondition(left == 1, "a length has the factors 2, 3 and 5")
        self.radices = radices
        let angles = (0..<length).map { -2 * Double.pi * Double($0) / Double(length) }
        // In double first: errors of the angles would grow with the length.
        cosines = angles.map { Float(cos($0)) }
        sines = angles.map { Float(sin($0)) }
    }

    /// The least length from `least` on that has only the factors 2, 3 and 5.
    package static func goodLength(atLeast least: Int) -> Int {
        var length = max(least, 1)
        while true {
            var left = length
            for factor in [2, 3, 5] {
                while left % factor == 0 { left /= factor }
            }
            if left == 1 { return length }
            length += 1
        }
    }

    /// Memory of `length` × `lanes` elements each.
    package struct Buffers {
        var real: UnsafeMutablePointer<Float>
        var imaginary: UnsafeMutablePointer<Float>

        package init(real: UnsafeMutablePointer<Float>, imaginary: UnsafeMutablePointer<Float>) {
            (self.real, self.imaginary) = (real, imaginary)
        }

        var exchanged: Buffers { Buffers(real: imaginary, imaginary: real) }
    }

    /// Transforms `data`; `scratch` is overwritten.
    package func transform(_ data: Buffers, scratch: Buffers, lanes: Int) {
        var (source, target) = (data, scratch)
        var (part, stride) = (length, 1)
        for radix in radices {
            for group in 0..<part / radix {
                let stage = Stage(group: group, groups: part / radix, run: stride * lanes, turn: group * stride)
                switch radix {
                case 2: pass2(source, target, stage)
                case 3: pass3(source, target, stage)
                case 4: pass4(source, target, stage)
                default: pass5(source, target, stage)
                }
            }
            part /= radix
            stride *= radix
            swap(&source, &target)
        }
        guard source.real != data.real else { return }
        data.real.update(from: source.real, count: length * lanes)
        data.imaginary.update(from: source.imaginary, count: length * lanes)
    }

    /// The butterflies of one twiddle factor.
    private struct Stage {
        let group: Int
        let groups: Int
        /// Elements that are next to each other.
        let run: Int
        /// The index of the first twiddle factor.
        let turn: Int

        @inline(__always)
        func input(_ part: Int) -> Int { run * (group + groups * part) }
    }

    @inline(__always)
    private func twiddle(_ stage: Stage, _ power: Int) -> (Float, Float) {
        let place = stage.turn * power % length
        return (cosines[place], sines[place])
    }

    private func pass2(_ x: Buffers, _ y: Buffers, _ stage: Stage) {
        let (c1, s1) = twiddle(stage, 1)
        let run = stage.run
        let (a, b) = (stage.input(0), stage.input(1))
        let out = run * 2 * stage.group
        for q in 0..<run {
            let (ar, ai) = (x.real[a + q], x.imaginary[a + q])
            let (br, bi) = (x.real[b + q], x.imaginary[b + q])
            y.real[out + q] = ar + br
            y.imaginary[out + q] = ai + bi
            let (dr, di) = (ar - br, ai - bi)
            y.real[out + run + q] = dr * c1 - di * s1
            y.imaginary[out + run + q] = dr * s1 + di * c1
        }
    }

    private func pass3(_ x: Buffers, _ y: Buffers, _ stage: Stage) {
        let ((c1, s1), (c2, s2)) = (twiddle(stage, 1), twiddle(stage, 2))
        let half: Float = 0.8660254037844386
        let run = stage.run
        let (a, b, c) = (stage.input(0), stage.input(1), stage.input(2))
        let out = run * 3 * stage.group
        for q in 0..<run {
            let (ar, ai) = (x.real[a + q], x.imaginary[a + q])
            let (sr, si) = (x.real[b + q] + x.real[c + q], x.imaginary[b + q] + x.imaginary[c + q])
            let (dr, di) = (half * (x.real[b + q] - x.real[c + q]), half * (x.imaginary[b + q] - x.imaginary[c + q]))
            let (mr, mi) = (ar - 0.5 * sr, ai - 0.5 * si)
            y.real[out + q] = ar + sr
            y.imaginary[out + q] = ai + si
            let (pr, pi) = (mr + di, mi - dr)
            y.real[out + run + q] = pr * c1 - pi * s1
            y.imaginary[out + run + q] = pr * s1 + pi * c1
            let (nr, ni) = (mr - di, mi + dr)
            y.real[out + 2 * run + q] = nr * c2 - ni * s2
            y.imaginary[out + 2 * run + q] = nr * s2 + ni * c2
        }
    }

    private func pass4(_ x: Buffers, _ y: Buffers, _ stage: Stage) {
        let ((c1, s1), (c2, s2), (c3, s3)) = (twiddle(stage, 1), twiddle(stage, 2), twiddle(stage, 3))
        let run = stage.run
        let (a, b, c, d) = (stage.input(0), stage.input(1), stage.input(2), stage.input(3))
        let out = run * 4 * stage.group
        for q in 0..<run {
            let (er, ei) = (x.real[a + q] + x.real[c + q], x.imaginary[a + q] + x.imaginary[c + q])
            let (fr, fi) = (x.real[a + q] - x.real[c + q], x.imaginary[a + q] - x.imaginary[c + q])
            let (gr, gi) = (x.real[b + q] + x.real[d + q], x.imaginary[b + q] + x.imaginary[d + q])
            let (hr, hi) = (x.real[b + q] - x.real[d + q], x.imaginary[b + q] - x.imaginary[d + q])
            y.real[out + q] = er + gr
            y.imaginary[out + q] = ei + gi
            let (pr, pi) = (fr + hi, fi - hr)
            y.real[out + run + q] = pr * c1 - pi * s1
            y.imaginary[out + run + q] = pr * s1 + pi * c1
            let (mr, mi) = (er - gr, ei - gi)
            y.real[out + 2 * run + q] = mr * c2 - mi * s2
            y.imaginary[out + 2 * run + q] = mr * s2 + mi * c2
            let (nr, ni) = (fr - hi, fi + hr)
            y.real[out + 3 * run + q] = nr * c3 - ni * s3
            y.imaginary[out + 3 * run + q] = nr * s3 + ni * c3
        }
    }

    private func pass5(_ x: Buffers, _ y: Buffers, _ stage: Stage) {
        let twiddles = (1..<5).map { twiddle(stage, $0) }
        let ((c1, s1), (c2, s2)) = (twiddles[0], twiddles[1])
        let ((c3, s3), (c4, s4)) = (twiddles[2], twiddles[3])
        let (u1, v1): (Float, Float) = (0.30901699437494745, 0.9510565162951535)
        let (u2, v2): (Float, Float) = (-0.8090169943749475, 0.5877852522924731)
        let run = stage.run
        let (a, b, c) = (stage.input(0), stage.input(1), stage.input(2))
        let (d, e) = (stage.input(3), stage.input(4))
        let out = run * 5 * stage.group
        for q in 0..<run {
            let (ar, ai) = (x.real[a + q], x.imaginary[a + q])
            let (pr, pi) = (x.real[b + q] + x.real[e + q], x.imaginary[b + q] + x.imaginary[e + q])
            let (qr, qi) = (x.real[b + q] - x.real[e + q], x.imaginary[b + q] - x.imaginary[e + q])
            let (rr, ri) = (x.real[c + q] + x.real[d + q], x.imaginary[c + q] + x.imaginary[d + q])
            let (tr, ti) = (x.real[c + q] - x.real[d + q], x.imaginary[c + q] - x.imaginary[d + q])
            y.real[out + q] = ar + pr + rr
            y.imaginary[out + q] = ai + pi + ri
            let (fr, fi) = (ar + u1 * pr + u2 * rr, ai + u1 * pi + u2 * ri)
            let (gr, gi) = (v1 * qr + v2 * tr, v1 * qi + v2 * ti)
            let (hr, hi) = (ar + u2 * pr + u1 * rr, ai + u2 * pi + u1 * ri)
            let (kr, ki) = (v2 * qr - v1 * tr, v2 * qi - v1 * ti)
            y.real[out + run + q] = (fr + gi) * c1 - (fi - gr) * s1
            y.imaginary[out + run + q] = (fr + gi) * s1 + (fi - gr) * c1
            y.real[out + 2 * run + q] = (hr + ki) * c2 - (hi - kr) * s2
            y.imaginary[out + 2 * run + q] = (hr + ki) * s2 + (hi - kr) * c2
            y.real[out + 3 * run + q] = (hr - ki) * c3 - (hi + kr) * s3
            y.imaginary[out + 3 * run + q] = (hr - ki) * s3 + (hi + kr) * c3
            y.real[out + 4 * run + q] = (fr - gi) * c4 - (fi + gr) * s4
            y.imaginary[out + 4 * run + q] = (fr - gi) * s4 + (fi + gr) * c4
        }
    }
}
