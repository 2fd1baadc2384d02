package compare

import "math"

// student returns the cumulative distribution function of Student's t.
func student(t, df float64) float64 {
	tail := beta(df/2, 0.5, df/(df+t*t)) / 2
	if t < 0 {
		return tail
	}
	return 1 - tail
}

// quantile inverts student by bisection, for q of one half or more.
func quantile(q, df float64) float64 {
	low, high := 0.0, 1.0
	for student(high, df) < q && high < 1e9 {
		high *= 2
	}
	for range 100 {
		if middle := (low + high) / 2; student(middle, df) < q {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// beta returns the regularised incomplete beta function I_x(a, b) by its continued fraction
// (Abramowitz and Stegun, 26.5.8), with Lentz's method.
func beta(a, b, x float64) float64 {
	if x <= 0 || x >= 1 {
		return min(max(x, 0), 1)
	}
	if x > (a+1)/(a+b+2) {
		return 1 - beta(b, a, 1-x)
	}
	ab, _ := math.Lgamma(a + b)
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	front := math.Exp(ab-la-lb+a*math.Log(x)+b*math.Log1p(-x)) / a
	return front * fraction(a, b, x)
}

func fraction(a, b, x float64) float64 {
	const tiny, precision, most = 1e-300, 1e-14, 500
	away := func(v float64) float64 {
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/away(1-(a+b)*x/(a+1))
	f := d
	for m := 1.0; m < most; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d, c = 1/away(1+even*d), away(1+even/c)
		f *= d * c
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d, c = 1/away(1+odd*d), away(1+odd/c)
		f *= d * c
		if math.Abs(d*c-1) < precision {
			break
		}
	}
	return f
}
