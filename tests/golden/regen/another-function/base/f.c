// up
// up
void f0(void)
{
    a();
    b();
    c();
    d();
    e();
    f();
    g0();
    h();
    i();
    j();
}

void f1(void)
{
    a();
    b();
    c();
    d();
    e();
    f();
    g1();
    h();
    i();
    j();
}

void renamed(int x)
{
    a();
    b();
    c();
    d();
    e();
    f();
    g2();
    h();
    i();
    j();
}

void f3(void)
{
    a();
    b();
    c();
    d();
    e();
    f();
    g3();
    h();
    i();
    j();
}

